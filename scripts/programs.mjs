// Programs that tests and benches run, and the packages that have them.

import { spawnSync } from 'node:child_process'
import { findChromium } from './chromium-there.mjs'

export const PROGRAMS = [
  {
    needs: 'redis-server 7.0 or newer',
    commands: ['redis-server', 'redis-cli'],
    isThere: () => Number(/v=(\d+)/.exec(outputOf('redis-server', '--version'))?.[1]) >= 7,
    debian: 'redis-server',
    brew: 'redis',
  },
  {
    needs: 'nginx with its auth_request module',
    commands: ['nginx'],
    isThere: () => outputOf('nginx', '-V').includes('http_auth_request_module'),
    debian: 'nginx',
    brew: 'nginx',
  },
  {
    needs: 'curl',
    commands: ['curl'],
    isThere: () => outputOf('curl', '--version').startsWith('curl'),
    debian: 'curl',
    brew: 'curl',
  },
  {
    needs: 'openssl',
    commands: ['openssl'],
    isThere: () => outputOf('openssl', 'version').includes('SSL'),
    debian: 'openssl',
    brew: 'openssl',
  },
  {
    needs: 'Chromium, or its path in SLUICE_CHROMIUM',
    commands: ['chromium'],
    isThere: () => findChromium() !== undefined,
    debian: 'chromium',
    brew: 'chromium',
  },
]

/**
 * Everything that a program prints; nothing if it is not there.
 * @param {string} program
 * @param {...string} args
 */
export function outputOf(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? `${stdout}${stderr}` : ''
}
