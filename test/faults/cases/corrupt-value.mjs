// Another program writes under our key names. Calls of that key fail, calls of all other keys work.

import { setTimeout as pause } from 'node:timers/promises'
import { oneServer } from '../environments.mjs'

/** @type {import('../run-fault.mjs').Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const corruptValue = {
  name: 'corrupt-value',
  what: 'the count of a key is overwritten: by a text, by another type, by NaN; then deleted',
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'deny' },
  ],
  startEnvironment: () => oneServer(),
  async inject({ server }) {
    const names = (await server.cli('KEYS', 'faults-*{warm}*')).split('\n')
    const overwrite = async (/** @type {string} */ program) => {
      for (const name of names) await server.cli('EVAL', program, 1, name)
      await pause(250)
    }
    await overwrite(TEXT)
    await overwrite(LIST)
    await overwrite(NAN_CELLS)
    for (const name of names) await server.cli('DEL', name)
    return names.length === 4 ? [] : [`found the states ${names}, expected one for each target`]
  },
  forgets: 1,
  // Redis decides all other keys, so the breaker never opens.
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'some', 'not-asked': 'none' },
}

// Scripts replace each value in one step. A hit between two values would be counted and lost.

const TEXT = "return redis.call('SET', KEYS[1], 'a text')"
const LIST = "redis.call('DEL', KEYS[1]); return redis.call('RPUSH', KEYS[1], 'an entry')"
/** Two cells of the right length that are not numbers. */
const NAN_CELLS = "return redis.call('SET', KEYS[1], struct.pack('<dd', 0/0, 0/0))"
