// Installs the programs that tests and benches run, as root on Debian or Ubuntu. Elsewhere it prints the missing ones and
// fails.

import { spawnSync } from 'node:child_process'
import { outputOf, PROGRAMS } from './programs.mjs'

const missing = () => PROGRAMS.filter(({ isInstalled }) => !isInstalled())

if (missing().length > 0 && process.getuid?.() === 0 && outputOf('apt-get', '--version') !== '') {
  const packages = missing().map(({ debian }) => debian)
  console.log(`Installing ${packages.join(', ')} (once) …`)
  // Runlevel 1 prevents the packages from starting their services.
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
