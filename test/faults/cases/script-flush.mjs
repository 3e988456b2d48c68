// The script cache is emptied repeatedly. The program is sent again each time, and no call fails.

import { setTimeout as pause } from 'node:timers/promises'
import { oneServer } from '../environments.mjs'

/** @type {import('../run-fault.mjs').Fault<Awaited<ReturnType<typeof oneServer>>>} */
export const scriptFlush = {
  name: 'script-flush',
  what: 'SCRIPT FLUSH, eight times',
  targets: [
    { client: 'ioredis', then: 'local', processes: 2 },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  startEnvironment: () => oneServer(),
  async inject({ server }) {
    for (let i = 0; i < 8; i++) {
      await server.cli('SCRIPT', 'FLUSH')
      await pause(100)
    }
  },
  expects: { timeout: 'none', refused: 'none', unknown: 'none', fatal: 'none', 'not-asked': 'none', recovered: 'none' },
}
