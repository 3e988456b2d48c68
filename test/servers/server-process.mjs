// A server that tests start: a child process with a temporary folder, stopped by its process id.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @import { ChildProcess, SpawnOptions } from 'node:child_process' */

/** Running servers. All are killed when the program ends. @type {Set<ChildProcess>} */
const running = new Set()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** One server. After `kill`, it may be started again, with the same port and folder. */
export class ServerProcess {
  /** @param {string} name of the kind of server */
  constructor(name) {
    this.folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`))
    /** @type {ChildProcess | undefined} */
    this.process = undefined
  }

  /**
   * Starts the program.
   * @param {string} program
   * @param {readonly string[]} args
   * @param {SpawnOptions} [options]
   */
  launch(program, args, options = {}) {
    const child = spawn(program, args, { stdio: 'ignore', ...options })
    child.on('error', () => {})
    child.on('exit', () => running.delete(child))
    running.add(child)
    this.process = child
    return child
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.process?.kill(signal)
  }

  /** Kills the server, as a crash would. */
  async kill() {
    const child = this.process
    this.process = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async stop() {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
