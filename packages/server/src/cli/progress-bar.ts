// A progress bar: one line on a terminal, nothing without one.

import { count } from './table.ts'
import type { Terminal } from './terminal.ts'

const WIDTH = 24
const EVERY_MS = 100

export class ProgressBar {
  readonly #out: Terminal['stderr']
  readonly #what: string
  readonly #total: number
  readonly #startMs = performance.now()
  #done = 0
  #drawnMs = 0

  constructor({ stderr }: Terminal, what: string, total: number) {
    this.#out = stderr
    this.#what = what
    this.#total = total
  }

  add(done: number): void {
    this.#done += done
    const nowMs = performance.now()
    if (!this.#out.isTTY || (nowMs - this.#drawnMs < EVERY_MS && this.#done < this.#total)) return
    this.#drawnMs = nowMs
    this.#out.write(`\r${this.#line(nowMs - this.#startMs)}\x1b[K`)
  }

  /** Removes the line. */
  end(): void {
    if (this.#out.isTTY) this.#out.write('\r\x1b[K')
  }

  #line(tookMs: number): string {
    const share = this.#done / this.#total
    const filled = Math.round(share * WIDTH)
    const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled)
    const leftSeconds = Math.ceil((tookMs / this.#done) * (this.#total - this.#done) * 0.001)
    return `${bar} ${count(this.#done)} of ${count(this.#total)} ${this.#what}, ${Math.floor(share * 100)} %, ${leftSeconds} s left`
  }
}
