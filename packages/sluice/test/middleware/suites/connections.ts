// Connections: pipelining, keep-alive, many at once, HTTP/2.

import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { expect, test } from 'vitest'
import { fixedWindow } from '../../../src/algorithms/fixed-window/fixed-window.ts'
import { parseRule } from '../../../src/algorithms/parse-rule.ts'
import type { Framework } from '../frameworks/framework.ts'
import { RawConnection } from '../raw-client.ts'
import { serving, statuses, times } from '../serving.ts'

const DAILY = fixedWindow({ limit: 3, window: '1d', name: 'daily' })

export function connectionSuite(framework: Framework): void {
  const serve = serving(framework)

  test('ten requests in one go under a limit of five: five pass, in order', async () => {
    const { port } = await serve({ rules: parseRule('5/minute') })
    const connection = await RawConnection.open(port)
    const replies = await connection.send(...times(10, () => ({})))
    connection.close()
    expect(statuses(replies)).toEqual([...times(5, () => 200), ...times(5, () => 429)])
    expect(replies.map(({ headers }) => headers.ratelimit.match(/r=(\d)/)?.[1]).join('')).toBe('4321000000')
  })

  test('a connection lives on after a denial', async () => {
    const { port, clock } = await serve({ rules: parseRule('1/minute') })
    const connection = await RawConnection.open(port)
    const first = await connection.send({}, { method: 'HEAD' })
    const denied = await connection.send({})
    clock.advance(60_000)
    const later = await connection.send({})
    connection.close()
    expect(statuses([...first, ...denied, ...later])).toEqual([200, 429, 429, 200])
  })

  test('1,000 requests under way under a limit of 100: exactly 100 pass', async () => {
    const { port } = await serve({ rules: parseRule('100/minute') })
    const connections = await Promise.all(times(50, () => RawConnection.open(port)))
    const replies = await Promise.all(connections.map((connection) => connection.send(...times(20, () => ({})))))
    for (const connection of connections) connection.close()
    const passed = replies.flat().filter(({ status }) => status === 200)
    expect(passed).toHaveLength(100)
    expect(new Set(passed.map(({ headers }) => headers.ratelimit)).size).toBe(100)
    expect(replies.flat().filter(({ status }) => status === 429)).toHaveLength(900)
  })

  test('HEAD and OPTIONS count as any other', async () => {
    const { ask } = await serve({ rules: DAILY })
    const head = await ask({ method: 'HEAD' })
    expect(head).toMatchObject({ status: 200, headers: { ratelimit: '"daily";r=2;t=86400' } })
    expect(await ask({ method: 'OPTIONS' })).toMatchObject({ headers: { ratelimit: '"daily";r=1;t=86400' } })
    await ask()
    expect(await ask({ method: 'HEAD' })).toMatchObject({ status: 429, headers: { 'retry-after': '86400' } })
  })

  test.runIf(framework.speaksHttp2)('HTTP/2: streams of one connection', async () => {
    const { port } = await serve({ rules: parseRule('5/minute') }, { http2: true })
    const client = connectHttp2(`http://127.0.0.1:${port}`)
    const replies = await Promise.all(
      times(8, async () => {
        const stream = client.request({ ':path': '/' })
        const [headers] = await once(stream, 'response')
        stream.resume()
        return headers
      }),
    )
    client.close()
    expect(replies.filter((headers) => headers[':status'] === 200)).toHaveLength(5)
    expect(replies.filter((headers) => headers[':status'] === 429)).toHaveLength(3)
    expect(replies[0].ratelimit).toMatch(/^"fixed-window:5\/1m";r=\d;t=60$/)
  })
}
