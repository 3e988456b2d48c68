// The tests and benches run against real programs: this finds them, installs what is missing where that is allowed, or says what to do.

import { spawnSync } from 'node:child_process'
import { findChromium } from './chromium-there.mjs'

const PROGRAMS = [
  {
    needs: 'redis-server 7.0 or newer',
    isThere: () => Number(/v=(\d+)/.exec(outputOf('redis-server', '--version'))?.[1]) >= 7,
    debian: 'redis-server',
    brew: 'redis',
  },
  {
    needs: 'nginx with its auth_request module',
    isThere: () => outputOf('nginx', '-V').includes('http_auth_request_module'),
    debian: 'nginx',
    brew: 'nginx',
  },
  {
    needs: 'curl',
    isThere: () => outputOf('curl', '--version').startsWith('curl'),
    debian: 'curl',
    brew: 'curl',
  },
  {
    needs: 'Chromium, or its path in SLUICE_CHROMIUM',
    isThere: () => findChromium() !== undefined,
    debian: 'chromium',
    brew: 'chromium',
  },
]

const missing = () => PROGRAMS.filter(({ isThere }) => !isThere())

if (missing().length > 0 && process.getuid?.() === 0 && outputOf('apt-get', '--version') !== '') {
  const packages = missing().map(({ debian }) => debian)
  console.log(`Installing ${packages.join(', ')} (once) …`)
  // Runlevel 1: install them, don't start them as services.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...packages],
  ]) {
    spawnSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env })
  }
}

const stillMissing = missing()
if (stillMissing.length > 0) {
  const listed = stillMissing.map(({ needs }) => needs).join(', ')
  const [debian, brew] = ['debian', 'brew'].map((from) => stillMissing.map((program) => program[from]).join(' '))
  console.error(`The tests need ${listed} on the PATH (Debian, Ubuntu: apt-get install ${debian}; macOS: brew install ${brew}).`)
  process.exit(1)
}

/** Everything that a program prints; nothing if it is not there. */
function outputOf(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? `${stdout}${stderr}` : ''
}
