// Lost changes of policies and keys. Instances inform each other with a notice, a text in the database. While the notice exists, no instance
// makes a change.
// Invariant: the notice expires when no instance repeats it, because the instance that wrote it may be gone for good.

import { hostname } from 'node:os'
import type { Position } from './found-records.ts'
import type { RecordsDatabase } from './records-database.ts'

/** Lifetime of the notice. Each poll renews it. */
const NOTICE_MS = 10_000

/** The database lacks changes that an instance has seen. */
export interface Loss {
  readonly sinceMs: number
  /** Number of the last change that this instance knows, and of the last change in the database. */
  readonly known: number
  readonly found: number
  /** The instance that knows the most changes, if it is not this one: `process 7 on a-host, since …`. */
  readonly knownBy: string | undefined
}

export class LossWatch {
  readonly #database: RecordsDatabase
  readonly #onLoss: (loss: Loss | undefined) => void
  #loss: Loss | undefined
  /** The notice of this instance. It begins with the number of the last change that this instance knows. */
  #notice = ''

  constructor(database: RecordsDatabase, onLoss: (loss: Loss | undefined) => void = () => {}) {
    this.#database = database
    this.#onLoss = onLoss
  }

  get loss(): Loss | undefined {
    return this.#loss
  }

  /** The database lacks changes that this instance has seen: informs the other instances. */
  async announce({ last }: Position, found: Position): Promise<void> {
    const since = new Date(this.#loss?.sinceMs ?? Date.now()).toISOString()
    this.#notice = `${last} process ${process.pid} on ${hostname()}, since ${since}`
    // If the database cannot be written to now, a later poll tries again.
    const current = await this.#database.writeNotice(this.#notice, NOTICE_MS).catch(() => this.#notice)
    this.#begin({ known: last, found: found.last, knownBy: current === this.#notice ? undefined : ownerOf(current) })
  }

  /** The database has everything that this instance has seen. A notice of another instance means that it has seen more. */
  async update(notice: string, found: Position): Promise<void> {
    if (notice !== '' && notice !== this.#notice) return this.learn(notice, found.last, found)
    if (notice !== '') await this.#database.removeNotice(notice).catch(() => {})
    this.end()
  }

  /** Another instance knows more than this one and than the database. */
  learn(notice: string, known: number, found: Position): void {
    this.#begin({ known, found: found.last, knownBy: ownerOf(notice) })
  }

  end(): void {
    const before = this.#loss
    this.#loss = undefined
    this.#notice = ''
    if (before !== undefined) this.#onLoss(undefined)
  }

  #begin(loss: Omit<Loss, 'sinceMs'>): void {
    const before = this.#loss
    this.#loss = { sinceMs: before?.sinceMs ?? Date.now(), ...loss }
    if (before === undefined) this.#onLoss(this.#loss)
  }
}

/** Returns the notice without its number. */
function ownerOf(notice: string): string {
  return notice.replace(/^\d+ /, '')
}
