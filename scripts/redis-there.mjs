// The tests and benches run against a real Redis: this finds redis-server, installs it where it is missing and that is allowed, or says what to do.

import { spawnSync } from 'node:child_process'

if (!isThere()) {
  if (process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0) {
    console.log('Installing redis-server (once) …')
    // Runlevel 1: install it, don't start it as a service.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
    for (const args of [
      ['update', '-qq'],
      ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'],
    ]) {
      spawnSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env })
    }
  }
  if (!isThere()) {
    console.error(
      'The tests need redis-server 7.0 or newer on the PATH (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis).',
    )
    process.exit(1)
  }
}

function isThere() {
  const { status, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return status === 0 && Number(/v=(\d+)/.exec(stdout)?.[1]) >= 7
}
