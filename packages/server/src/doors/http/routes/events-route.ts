// A live sample of checks, as server-sent events.
// Invariant: a slow reader costs no memory. Events that do not fit are dropped, and the reader gets their number.

import type { ServerResponse } from 'node:http'
import Type from 'typebox'
import { CheckEventView, DroppedView } from '../../../contract/event-schemas.ts'
import { ServerError } from '../../../errors.ts'
import type { CheckEvent, EventFeed } from '../../../stats/event-feed.ts'
import { type App, content, described, type RouteContext } from '../plumbing/route-options.ts'

/** A comment line at this interval keeps proxies from closing a silent connection. */
const HEARTBEAT_MS = 15_000

/** The key or session of a stream is checked at this interval. The stream ends when it is no longer valid. */
const CHECK_EVERY_MS = 1000

/** Bytes that may wait for a slow reader. */
const MOST_WAITING_BYTES = 256 * 1024

/** OpenAPI 3.1 cannot describe a stream, so `x-events` has the schema of the `data` of each kind of event. */
const Events = Type.String({ 'x-events': { check: CheckEventView, dropped: DroppedView } })

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
        id: 'watchEvents',
        summary: 'Watch checks as they happen',
        description:
          'Server-sent events of this instance: first the latest denials, then a sample of all checks. `check`: one check, with the reason ' +
          'for its outcome. `dropped`: the number of events that were dropped because this connection was too slow.',
        scope: 'read',
        answers: { 200: content('text/event-stream', 'Events, until you close the connection.', Events) },
        failures: [503],
      }),
    },
    ({ apiKey, raw: request }, reply) => {
      const { raw } = reply
      const stop = stream(events, raw)
      if (stop === undefined) throw new ServerError('ERR_BUSY', 'too many event streams are open already')
      reply.hijack()
      open.add(raw)
      const validityCheck = setInterval(() => authentication.isStillValid(request, apiKey) || raw.end(), CHECK_EVERY_MS)
      validityCheck.unref()
      // The answer never ends by itself, and a client that has gone is noticed at the next write only.
      request.socket.once('end', () => raw.end())
      raw.on('close', () => {
        clearInterval(validityCheck)
        open.delete(raw)
        stop()
      })
    },
  )
}

/** Sends events until the returned function is called. Returns undefined if too many streams are open. */
function stream(events: EventFeed, response: ServerResponse): (() => void) | undefined {
  let dropped = 0
  const sendDropped = (): void => {
    if (dropped > 0) response.write(message('dropped', { count: dropped }))
    dropped = 0
  }
  const unlisten = events.listen((came) => {
    if (response.writableLength > MOST_WAITING_BYTES) {
      dropped += came.length
      return
    }
    sendDropped()
    response.write(messagesOf(came))
  })
  if (unlisten === undefined) return undefined
  response.on('drain', sendDropped)
  const heartbeat = setInterval(() => response.writableLength > 0 || response.write(': still here\n\n'), HEARTBEAT_MS)
  heartbeat.unref()
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  response.write(messagesOf([...events.recent]) || ': nothing was denied yet\n\n')
  return () => {
    clearInterval(heartbeat)
    unlisten()
  }
}

/** Serialised events, shared by all streams that are sent the same array. */
const written = new WeakMap<readonly CheckEvent[], string>()

function messagesOf(events: readonly CheckEvent[]): string {
  const known = written.get(events)
  if (known !== undefined) return known
  const text = events.map((event) => message('check', event)).join('')
  written.set(events, text)
  return text
}

function message(name: string, data: CheckEvent | { readonly count: number }): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
