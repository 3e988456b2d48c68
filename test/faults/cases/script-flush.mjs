// The script cache is emptied again and again: each time the program is sent once more, and nobody notices.

import { setTimeout as pause } from 'node:timers/promises'
import { oneServer } from '../scenes.mjs'

/** @type {import('../run-fault.mjs').Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const scriptFlush = {
  name: 'script-flush',
  what: 'SCRIPT FLUSH, eight times',
  subjects: [
    { client: 'ioredis', then: 'local', processes: 2 },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  setTheScene: () => oneServer(),
  async strike({ server }) {
    for (let i = 0; i < 8; i++) {
      await server.cli('SCRIPT', 'FLUSH')
      await pause(100)
    }
  },
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'none', recovered: 'none' },
}
