import { expect, test } from 'vitest'
import { sendingLone } from './node-redis-lone.ts'

/** A client whose commands end when the test says so. */
function heldClient() {
  const timeouts: (number | undefined)[] = []
  const ends: (() => void)[] = []
  const client = {
    sendCommand(_command: readonly string[], options?: { readonly timeout: number }) {
      timeouts.push(options?.timeout)
      return new Promise<void>((resolve, reject) =>
        ends.push(timeouts.length % 2 === 0 ? resolve : () => reject(new Error('lost'))),
      )
    },
  }
  return { client, timeouts, ends }
}

test('at most one command that is not answered goes without the timeout of the client', async () => {
  const { client, timeouts, ends } = heldClient()
  const send = sendingLone()
  const sent = Array.from({ length: 4 }, () => send(client, ['PING']))
  expect(timeouts).toEqual([0, undefined, undefined, undefined])
  // Answered and lost ones.
  for (const end of ends.splice(0)) end()
  await Promise.allSettled(sent)
  send(client, ['PING'])
  send(client, ['PING'])
  expect(timeouts.slice(4)).toEqual([0, undefined])
})
