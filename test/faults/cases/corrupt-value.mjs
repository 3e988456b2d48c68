// Somebody else writes under our names: the calls of that key fail, and those of all others go on.

import { setTimeout as pause } from 'node:timers/promises'
import { oneServer } from '../scenes.mjs'

/** @type {import('../run-fault.mjs').Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const corruptValue = {
  name: 'corrupt-value',
  what: 'the count of a key is overwritten: by a text, by another type, by NaN; then deleted',
  subjects: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
    { client: 'node-redis', then: 'deny' },
  ],
  setTheScene: () => oneServer(),
  async strike({ server }) {
    const names = (await server.cli('KEYS', 'faults-*{warm}*')).split('\n')
    const overwrite = async (/** @type {string} */ program) => {
      for (const name of names) await server.cli('EVAL', program, 1, name)
      await pause(250)
    }
    await overwrite(TEXT)
    await overwrite(LIST)
    await overwrite(NAN_CELLS)
    for (const name of names) await server.cli('DEL', name)
    return names.length === 4 ? [] : [`found the states ${names}, expected one for each subject`]
  },
  forgets: 1,
  // Other keys are decided by Redis all the time: the breaker never opens.
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'some', 'not-asked': 'none' },
}

// Programs, so that no hit comes between the end of one value and the next: it would be counted and forgotten.

const TEXT = "return redis.call('SET', KEYS[1], 'a text')"
const LIST = "redis.call('DEL', KEYS[1]); return redis.call('RPUSH', KEYS[1], 'an entry')"
/** Two cells of the right length, neither of them a number. */
const NAN_CELLS = "return redis.call('SET', KEYS[1], struct.pack('<dd', 0/0, 0/0))"
