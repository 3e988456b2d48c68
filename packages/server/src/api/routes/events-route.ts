// A sample of checks as they happen, as server-sent events.
// What must stay true: one who reads slowly costs the service no memory: what does not fit is dropped, and counted for them.

import type { ServerResponse } from 'node:http'
import { ServerError } from '../../errors.ts'
import type { CheckEvent, EventFeed } from '../../stats/event-feed.ts'
import { type App, content, described, type RouteContext } from '../route-options.ts'

/** A line now and then, so that those between do not close a connection that is silent. */
const HEARTBEAT_MS = 15_000

/** What may wait for one who reads slowly. */
const MOST_WAITING_BYTES = 256 * 1024

export function eventsRoute(app: App, { service, authentication }: RouteContext): void {
  const { events } = service.stats
  const open = new Set<ServerResponse>()
  app.addHook('preClose', (done) => {
    for (const response of open) response.end()
    done()
  })

  app.get(
    '/v1/events',
    {
      onRequest: authentication.requires('read'),
      exposeHeadRoute: false,
      schema: described({
        tag: 'figures',
        summary: 'Watch checks as they happen',
        description:
          'Server-sent events of this instance: at first the latest denials, then a sample of all checks. `check`: one check, with the reason ' +
          'for its answer. `dropped`: how many events this connection was too slow for.',
        scope: 'read',
        answers: { 200: content('text/event-stream', 'Events, for as long as you listen.') },
        failures: [503],
      }),
    },
    (_request, reply) => {
      const { raw } = reply
      const stop = stream(events, raw)
      if (stop === undefined) throw new ServerError('ERR_BUSY', 'too many are watching already')
      reply.hijack()
      open.add(raw)
      raw.on('close', () => {
        open.delete(raw)
        stop()
      })
    },
  )
}

/** Sends events until the returned function is called; undefined if too many listen already. */
function stream(events: EventFeed, response: ServerResponse): (() => void) | undefined {
  let dropped = 0
  const tellDropped = (): void => {
    if (dropped > 0) response.write(message('dropped', { count: dropped }))
    dropped = 0
  }
  const unlisten = events.listen((event) => {
    if (response.writableLength > MOST_WAITING_BYTES) {
      dropped += 1
      return
    }
    tellDropped()
    response.write(message('check', event))
  })
  if (unlisten === undefined) return undefined
  response.on('drain', tellDropped)
  const heartbeat = setInterval(() => response.writableLength > 0 || response.write(': still here\n\n'), HEARTBEAT_MS)
  heartbeat.unref()
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  response.write(events.recent.map((event) => message('check', event)).join('') || ': nothing was denied yet\n\n')
  return () => {
    clearInterval(heartbeat)
    unlisten()
  }
}

function message(name: string, data: CheckEvent | { readonly count: number }): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
