// The lock of a file of SQLite, held by another process.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('./sqlite-lock-process.mjs', import.meta.url))

/**
 * Starts a process that holds the lock until `release` ends it, or `kill` kills it in the middle of its transaction.
 * @param {string} file
 */
export async function lockFile(file) {
  const child = spawn(process.execPath, [PROGRAM, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  await once(child.stdout, 'data')
  return {
    async release() {
      child.stdin.end()
      await ended
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
