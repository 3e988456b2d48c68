// The tests and benches run against real programs: this finds them, installs what is missing where that is allowed, or says
// what to install.

import { spawnSync } from 'node:child_process'
import { outputOf, PROGRAMS } from './programs.mjs'

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
  const debian = stillMissing.map((program) => program.debian).join(' ')
  const brew = stillMissing.map((program) => program.brew).join(' ')
  console.error(`The tests need ${listed} on the PATH (Debian, Ubuntu: apt-get install ${debian}; macOS: brew install ${brew}).`)
  process.exit(1)
}
