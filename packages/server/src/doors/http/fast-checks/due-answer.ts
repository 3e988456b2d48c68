// The place of an answer among the answers of its connection.

import type { Answerer } from '../check-door.ts'
import type { AnswerTexts } from './answer-text.ts'

export class DueAnswer implements Answerer {
  /** Undefined until the check is decided. */
  text: string | undefined
  /** True if each character of the text is one byte. Such a text is written in less time. */
  isAscii = false
  readonly #texts: AnswerTexts
  readonly #onText: () => void

  constructor(texts: AnswerTexts, onText: () => void) {
    this.#texts = texts
    this.#onText = onText
  }

  decided(fields: Readonly<Record<string, string>>, body: string): void {
    this.isAscii = true
    this.text = this.#texts.ofDecision(fields, body)
    this.#onText()
  }

  answer(status: number, headers: Readonly<Record<string, string | number>>, body: string): void {
    // Heads are ASCII.
    this.isAscii = headers['content-length'] === body.length
    this.text = this.#texts.of(status, headers, body)
    this.#onText()
  }
}
