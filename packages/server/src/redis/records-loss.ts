// Lost changes of policies and keys, as far as this instance knows; and the text in Redis by which instances tell each
// other. While the text stands there, no instance makes a change.
// Invariant: the text goes by itself when nobody repeats it: the instance that wrote it may be gone for ever.

import { hostname } from 'node:os'
import type { Position } from './found-records.ts'
import { LOWER, RAISE } from './records-programs.ts'
import type { RunProgram } from './restore-records.ts'

/** So long after it was last written the text goes. An instance writes it at each look. */
const SAID_FOR_MS = 10_000

/** Redis lacks changes that an instance has seen. */
export interface Loss {
  readonly sinceMs: number
  /** The last change that this instance knows, and the last that Redis has. */
  readonly known: number
  readonly found: number
  /** The instance that knows most, if it is another: `process 7 on a-host, since …`. */
  readonly knownBy: string | undefined
}

export class LossWatch {
  readonly #run: RunProgram
  readonly #onLoss: (loss: Loss | undefined) => void
  #loss: Loss | undefined
  /** The text that this instance wrote. It begins with the number of the last change that it knows. */
  #said = ''

  constructor(run: RunProgram, onLoss: (loss: Loss | undefined) => void = () => {}) {
    this.#run = run
    this.#onLoss = onLoss
  }

  get loss(): Loss | undefined {
    return this.#loss
  }

  /** Redis lacks what this instance has seen: tells all others. */
  async say({ last }: Position, found: Position): Promise<void> {
    const since = new Date(this.#loss?.sinceMs ?? Date.now()).toISOString()
    this.#said = `${last} process ${process.pid} on ${hostname()}, since ${since}`
    // A Redis that cannot be written to now can be later.
    const said = String(await this.#run(RAISE, this.#said, String(SAID_FOR_MS)).catch(() => this.#said))
    this.#begin({ known: last, found: found.last, knownBy: said === this.#said ? undefined : ownerOf(said) })
  }

  /** Redis has everything that this instance has seen; another may have seen more. */
  async hear(said: string, found: Position): Promise<void> {
    if (said !== '' && said !== this.#said) return this.told(said, found.last, found)
    if (said !== '') await this.#run(LOWER, said).catch(() => {})
    this.end()
  }

  /** Another instance knows more than this one, and than Redis. */
  told(said: string, known: number, found: Position): void {
    this.#begin({ known, found: found.last, knownBy: ownerOf(said) })
  }

  end(): void {
    const before = this.#loss
    this.#loss = undefined
    this.#said = ''
    if (before !== undefined) this.#onLoss(undefined)
  }

  #begin(loss: Omit<Loss, 'sinceMs'>): void {
    const before = this.#loss
    this.#loss = { sinceMs: before?.sinceMs ?? Date.now(), ...loss }
    if (before === undefined) this.#onLoss(this.#loss)
  }
}

/** The text without its number. */
function ownerOf(said: string): string {
  return said.replace(/^\d+ /, '')
}
