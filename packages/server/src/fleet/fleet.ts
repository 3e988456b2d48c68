// Publishes the report of this instance, and reads those of all instances that share the database.
// Invariant: all instances together publish at most ten texts a second, however many there are, because the pause grows with their number.
// A read asks the database at most once a second. No check waits for any of this.

import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Stats } from '../stats/stats.ts'
import { type FleetBoard, MOST_INSTANCES, MOST_TEXT_CHARACTERS, type PublishedText } from './fleet-board.ts'
import { type FleetInstance, type FleetView, fleetView, isUp, stateOf } from './fleet-view.ts'
import { type InstanceReport, readReport, reportOf } from './instance-report.ts'
import { publishedShadows, type ShadowedPolicy } from './published-shadows.ts'

/** Shortest time between two texts of an instance. */
const EVERY_MS = 5000

/** Time between two texts for each instance that is up. */
const EACH_MS = 100

/** A read is used again for this long. */
const FRESH_MS = 1000

/** Time for the last text of an instance that stops. */
const LAST_MS = 1000

export interface FleetOptions {
  /** Undefined if no database is shared. Then the fleet is this instance. */
  readonly board: FleetBoard | undefined
  readonly stats: Stats
  readonly version: string
  readonly stateOf: () => InstanceReport['state']
  /** Returns the policies in shadow mode that are in force and have counts. */
  readonly shadowed: () => Iterable<ShadowedPolicy>
  /** Called when publishing fails, and with undefined when it works again. */
  readonly onProblem: (problem: Error | undefined) => void
}

interface Seen {
  readonly atMs: number
  readonly texts: Promise<readonly PublishedText[]>
}

export class Fleet {
  /** Unique for each start. */
  readonly id = `${hostname().slice(0, 64)}-${randomBytes(4).toString('hex')}`
  readonly #options: FleetOptions
  #everyMs = EVERY_MS
  #othersUp = 0
  #seen: Seen | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #hasProblem = false

  constructor(options: FleetOptions) {
    this.#options = options
  }

  /** Number of instances that were up when this one last published its report. */
  get up(): number {
    return this.#othersUp + 1
  }

  /** Publishes until it is closed. */
  start(): void {
    if (this.#options.board !== undefined) void this.#publishAndWait()
  }

  /** Resolves to the reports of all instances. If the database does not answer, to the own report and the problem. */
  async view(): Promise<FleetView> {
    const { board, stats } = this.#options
    const own = this.#own()
    const instances: FleetInstance[] = [{ id: this.id, isSelf: true, state: own.state, ageMs: 0, report: own }]
    let unreadable = 0
    let problem: string | undefined
    try {
      for (const { id, text, ageMs } of board === undefined ? [] : await this.#read(board)) {
        if (id === this.id) continue
        const report = readReport(text)
        if (report === undefined) unreadable += 1
        else instances.push({ id, isSelf: false, state: stateOf(report, ageMs), ageMs, report })
      }
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error)
    }
    return fleetView(instances, { unreadable, lastSecond: Math.floor(stats.now() / 1000), problem })
  }

  /** Publishes that this instance has stopped. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#timer)
    const { board } = this.#options
    if (board === undefined) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_MS)
    })
    // Without this text, the others find out by themselves.
    const last = board.publish(this.id, textOf({ ...this.#own(), state: 'stopped' })).catch(() => {})
    await Promise.race([last, late])
    clearTimeout(timer)
  }

  async #publishAndWait(): Promise<void> {
    const board = this.#options.board as FleetBoard
    try {
      await board.publish(this.id, textOf(this.#own()))
      const { instances } = await this.view()
      this.#othersUp = instances.filter((instance) => !instance.isSelf && isUp(instance)).length
      this.#everyMs = Math.max(EVERY_MS, Math.min(this.up, MOST_INSTANCES) * EACH_MS)
      this.#report(undefined)
    } catch (error) {
      this.#report(error as Error)
    }
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#publishAndWait(), this.#everyMs)
    this.#timer.unref()
  }

  #own(): InstanceReport {
    const { stats, version, stateOf: state, shadowed } = this.#options
    return reportOf(stats, { version, state: state(), everyMs: this.#everyMs, shadows: publishedShadows(shadowed()) })
  }

  /** Reads of the same second share one answer. */
  #read(board: FleetBoard): Promise<readonly PublishedText[]> {
    const nowMs = performance.now()
    if (this.#seen === undefined || nowMs - this.#seen.atMs > FRESH_MS) this.#seen = { atMs: nowMs, texts: board.read() }
    return this.#seen.texts
  }

  #report(problem: Error | undefined): void {
    const hasProblem = problem !== undefined
    if (hasProblem !== this.#hasProblem) this.#options.onProblem(problem)
    this.#hasProblem = hasProblem
  }
}

/** Writes the report. If the text would be too long, because of very long names, it leaves out policies. */
function textOf(report: InstanceReport): string {
  const text = JSON.stringify(report)
  if (text.length <= MOST_TEXT_CHARACTERS) return text
  return JSON.stringify({ ...report, policies: [], shadows: undefined })
}
