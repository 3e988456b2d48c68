// Charges that depend on the response.

import { expect, test } from 'vitest'
import { parseRule } from '../../../src/algorithms/parse-rule.ts'
import { createLimiter } from '../../../src/create-limiter.ts'
import { chargeByResponse } from '../../../src/middleware/requests.ts'
import type { Application, Asked, Framework } from '../frameworks/framework.ts'
import { ask, RawConnection, type Reply } from '../raw-client.ts'
import { serving, statuses, times } from '../serving.ts'

/** Responds with the status in the path: `/404`. */
const statusInPath: Application['handle'] = async ({ path }) => ({ status: Number(path.slice(1)) || 200, body: 'done' })

export function chargeSuite(framework: Framework): void {
  const serve = serving(framework)

  const left = ({ headers }: Reply): string | undefined => /r=(\d+)/.exec(headers.ratelimit)?.[1]

  test.each([
    ['failed-response', '4443', '/200', '/404'],
    ['successful-response', '4443', '/404', '/200'],
    [(status: number) => status === 401, '4443', '/403', '/401'],
  ] as const)('%s', async (charge, expected, free, charged) => {
    const { ask } = await serve({ rules: parseRule('5/minute'), charge: chargeByResponse(charge) }, { handle: statusInPath })
    const replies = [
      await ask({ path: free }),
      await ask({ path: free }),
      await ask({ path: charged }),
      await ask({ path: free }),
    ]
    expect(replies.map(left).join('')).toBe(expected)
    expect(statuses(replies)).toEqual([free, free, charged, free].map((path) => Number(path.slice(1))))
  })

  test('a handler that fails has made a failed response', async () => {
    const { ask } = await serve(
      { rules: parseRule('5/minute'), charge: chargeByResponse('successful-response') },
      {
        handle: async ({ path }) => {
          if (path === '/oops') throw new Error('oops')
          return { status: 200, body: 'hello' }
        },
      },
    )
    for (let i = 0; i < 3; i++) await ask({ path: '/oops' })
    expect(left(await ask())).toBe('4')
  })

  test('requests under way count until their response: no more than the limit at once', async () => {
    const gate = holdingHandler()
    const { port } = await serve({ rules: parseRule('5/minute'), charge: chargeByResponse('failed-response') }, gate)
    const connections = await Promise.all(times(8, () => RawConnection.open(port)))
    const replies = connections.map((connection) => connection.send({}))
    let denied = 0
    for (const reply of replies) reply.then(([{ status }]) => (denied += Number(status === 429)))
    await gate.holds(5)
    while (denied < 3) await new Promise(setImmediate)
    gate.release()
    expect(statuses((await Promise.all(replies)).flat()).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
    expect(left(await ask(port))).toBe('4')
    for (const connection of connections) connection.close()
  })

  test('a client that disconnects before the response is charged', async () => {
    const gate = holdingHandler()
    const limiter = createLimiter({ rules: parseRule('5/minute') })
    const { port, ask } = await serve({ limiter, charge: chargeByResponse('failed-response') }, gate)
    const connection = await RawConnection.open(port)
    connection.write({})
    await gate.holds(1)
    connection.abort()
    // The server has noticed the disconnect once it has handled a later request.
    for (let i = 0; i < 3; i++) await ask({ path: '/free' })
    gate.release()
    await gate.done(4)
    expect(limiter.get('127.0.0.1')).toBe(1)
  })
}

/** A handler that keeps requests until they are released, but those for `/free`. */
function holdingHandler() {
  const waiting: (() => void)[] = []
  let finished = 0
  let isOpen = false
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise(setImmediate)
  }
  return {
    async handle({ path }: Asked) {
      if (!isOpen && path !== '/free') await new Promise<void>((resolve) => waiting.push(resolve))
      finished += 1
      return { status: 200, body: 'at last' }
    },
    holds: (count: number) => until(() => waiting.length >= count),
    async done(count: number) {
      await until(() => finished >= count)
      // And what happens then.
      for (let i = 0; i < 5; i++) await new Promise(setImmediate)
    },
    release() {
      isOpen = true
      for (const resolve of waiting.splice(0)) resolve()
    },
  }
}
