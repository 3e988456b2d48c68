// A terminal screen that is redrawn, and restored at the end.
// Invariant: close() always restores the cursor, the lines and the keyboard.

import type { Terminal } from './terminal.ts'

const ENTER = '\x1b[?1049h\x1b[?25l'
const LEAVE = '\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\x1b[J'

/** q, Q, Ctrl-C, Ctrl-D, and Escape alone. Arrow keys begin with Escape too, but are longer. */
const LEAVING = new Set(['q', 'Q', '\x03', '\x04', '\x1b'])

export class LiveScreen {
  readonly #terminal: Terminal
  #isLeft = false
  #wake = (): void => {}

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    const { stdin, stdout } = terminal
    stdin.setRawMode?.(true)
    stdin.on('data', this.#onKeys)
    stdin.resume()
    stdout.on('resize', this.#onResize)
    stdout.write(ENTER)
  }

  get isLeft(): boolean {
    return this.#isLeft
  }

  /** Draws as many lines as fit. */
  draw(linesFor: (columns: number, rows: number) => readonly string[]): void {
    // A terminal of unknown size may report 0.
    const columns = this.#terminal.stdout.columns || 80
    const rows = this.#terminal.stdout.rows || 24
    const lines = linesFor(columns, rows).slice(0, rows)
    this.#terminal.stdout.write(`${HOME}${lines.map((line) => line + CLEAR_LINE).join('\r\n')}${CLEAR_BELOW}`)
  }

  /** Waits. Returns early if the user leaves or the size changes. */
  async pause(ms: number): Promise<void> {
    if (this.#isLeft) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  close(): void {
    const { stdin, stdout } = this.#terminal
    stdin.off('data', this.#onKeys)
    stdout.off('resize', this.#onResize)
    stdin.setRawMode?.(false)
    stdin.pause()
    stdout.write(LEAVE)
  }

  readonly #onKeys = (keys: Buffer | string): void => {
    if (!LEAVING.has(keys.toString())) return
    this.#isLeft = true
    this.#wake()
  }

  readonly #onResize = (): void => this.#wake()
}
