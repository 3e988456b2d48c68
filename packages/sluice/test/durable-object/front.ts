// The front Worker of a test file, and functions that ask it.

import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { makeDisk, startWorker } from '../../../../test/servers/workerd-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import type { Decision } from '../../src/core/decision.ts'
import type { CallOutcome, CallsTask, RawTask } from './front-worker.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))

export const HOUR_MS = 3_600_000
/** A time for objects whose clock a test moves. */
export const START_MS = 1_763_193_637_123

export const hundred: RuleSpec = { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'hundred' }

/** Returns the same call several times. */
export function times(count: number, ...call: CallsTask['calls'][number]): CallsTask['calls'] {
  return Array.from({ length: count }, () => call)
}

let names = 0
/** Returns a name of objects that no other test uses. */
export function freshName(): string {
  names += 1
  return `test-${names}`
}

/** Front Workers over one disk. */
export class Front {
  readonly #disk = makeDisk()
  #worker: Awaited<ReturnType<typeof startWorker>> | undefined

  async start({ enableSql = true } = {}): Promise<void> {
    const code = "export { default, TestObject } from './front-worker.ts'"
    const second = "export { default } from './front-worker.ts'"
    this.#worker = await startWorker({ code, second, folder, disk: this.#disk, enableSql, objects: { SLUICE: 'TestObject' } })
  }

  get printed(): string {
    return this.#worker?.printed() ?? ''
  }

  /** Kills workerd. The disk stays. */
  async kill(): Promise<void> {
    await this.#worker?.stop()
    this.#worker = undefined
  }

  /** Stops and resumes workerd by its process id. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#worker?.process.kill(name)
  }

  async remove(): Promise<void> {
    await this.kill()
    rmSync(this.#disk, { recursive: true, force: true })
  }

  /** Makes calls, in the first or the second Worker. */
  calls(task: CallsTask, worker: 'first' | 'second' = 'first'): Promise<readonly CallOutcome[]> {
    return this.#post(worker, '/calls', task)
  }

  object(task: RawTask): Promise<{ readonly status?: number; readonly text?: string; readonly thrown?: string }> {
    return this.#post('first', '/object', task)
  }

  /** Runs a test method of an object. */
  async test(object: string, method: string, body = ''): Promise<unknown> {
    const { text, thrown } = await this.object({ object, path: `/test/${method}`, body })
    return thrown === undefined ? JSON.parse(text as string) : thrown
  }

  /** Number of rows in the table of an object. */
  async rows(object: string): Promise<number> {
    const count = async (table: string, where = ''): Promise<number> => {
      const rows = await this.test(object, 'sql', `SELECT count(*) AS rows FROM ${table} ${where}`)
      return (rows as { rows: number }[])[0].rows
    }
    const hasTable = (await count('sqlite_master', "WHERE name = 'sluice_states_1'")) > 0
    return hasTable ? count('sluice_states_1') : 0
  }

  /** Sends a message without calls. Returns the count of the reply. */
  async task(object: string, task: string): Promise<unknown> {
    const { text } = await this.object({ object, body: JSON.stringify({ version: 1, task }) })
    return JSON.parse(text as string).count
  }

  /** Changes the settings of all objects. Returns the number of messages since the last time. */
  setUp(settings: { readonly now?: number | null; readonly maxKeys?: number; readonly fault?: string | null }): Promise<number> {
    return this.#post('first', '/set-up', settings)
  }

  async #post<V>(worker: 'first' | 'second', path: string, body: unknown): Promise<V> {
    const url = worker === 'first' ? this.#worker?.url : this.#worker?.secondUrl
    const response = await fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return JSON.parse(await response.text()) as V
  }
}

/** Returns the values of calls. Throws if one failed. */
export function valuesOf(outcomes: readonly CallOutcome[]): readonly unknown[] {
  return outcomes.map((outcome) => {
    if ('code' in outcome) throw new Error(`${outcome.code}: ${outcome.message}`)
    return outcome.value
  })
}

/** Returns the number of allowed hits. */
export function allowedIn(outcomes: readonly CallOutcome[]): number {
  return valuesOf(outcomes).filter((decision) => (decision as Decision).allowed).length
}

/** Returns the codes of calls that all failed. */
export function codesOf(outcomes: readonly CallOutcome[]): readonly string[] {
  return outcomes.map((outcome) => ('code' in outcome ? outcome.code : 'answered'))
}
