// Each measurement has its own process, so that no contestant shares a heap, compiled code or timers with another.
// Run as a program, this file is that process: it imports the task, measures, and prints the numbers as JSON.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * The numbers of a task, or the reason why there are none.
 * @typedef {{ numbers: Record<string, number>, failure?: string }} Measurement
 */

const THIS_FILE = fileURLToPath(import.meta.url)

// Far above the slowest measurement (10 M keys in the heaviest peer). It ends a stuck one.
const TIMEOUT_MS = 300_000

/**
 * A killed child (heap exhausted, too slow) is a result: a failure. A child that throws is a bug in the bench or a broken
 * build, and ends the bench.
 * @param {string} taskFile URL of a module that exports `measure(params)`
 * @param {object} params
 * @param {readonly string[]} nodeFlags
 * @returns {Promise<Measurement>}
 */
export function measureInChild(taskFile, params, nodeFlags) {
  const argv = [...nodeFlags, THIS_FILE, taskFile, JSON.stringify(params)]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, argv, { timeout: TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) resolve({ numbers: JSON.parse(stdout) })
      else if (error.killed) resolve({ numbers: {}, failure: 'out of time' })
      else if (error.signal === 'SIGABRT' || error.signal === 'SIGKILL') resolve({ numbers: {}, failure: 'out of memory' })
      else reject(new Error(`measuring ${JSON.stringify(params)} failed:\n${stderr || error.message}`))
    })
  })
}

if (process.argv[1] === THIS_FILE) {
  const [taskFile, params] = process.argv.slice(2)
  const { measure } = await import(taskFile)
  process.stdout.write(JSON.stringify(await measure(JSON.parse(params))))
}
