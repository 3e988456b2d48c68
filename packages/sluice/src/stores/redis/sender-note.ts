// The sender's side of a note: a key in Redis with a bit for each command, so that a command that a client sends twice is executed
// once. Commands are numbered from 0 on. The bit of a command is its number modulo BITS. In even cycles it is set to 1, in odd
// cycles to 0.
// Invariant: all commands of a note that are under way have different bits, and no bit disagrees with its cycle. After a failure
// nobody knows which bits were set, and after a long pause Redis may have dropped the note, so a new note begins.

import type { NoteEntry } from './redis-command.ts'

/** Number of bits of a note. command.lua makes notes of so many bits, too. */
export const BITS = 4096

/** The life of a note, as command.lua sets it. It starts again when the note is used after more than half of it. */
export const LIFE_MS = 600_000

/** A command's entry in a note. */
export interface NotedCommand {
  readonly entry: NoteEntry
  /** Called once, when the command was answered or has failed. */
  end(isAnswered: boolean): void
}

/** The commands of one note. */
interface Numbers {
  readonly name: string
  next: number
  readonly underWay: Set<number>
  /** No command under way has a lower number. */
  least: number
  usedMs: number
}

export class SenderNote {
  readonly #nameOf: (id: string) => string
  readonly #now: () => number
  #numbers: Numbers | undefined

  /** `nameOf` returns the name of the note with an id. */
  constructor(nameOf: (id: string) => string, now: () => number = () => performance.now()) {
    this.#nameOf = nameOf
    this.#now = now
  }

  /** Takes the next number for a command. A command that is sent twice keeps its number. */
  begin(): NotedCommand {
    const nowMs = this.#now()
    const numbers = this.#usable(nowMs) ?? this.#renew(nowMs)
    const nth = numbers.next++
    numbers.usedMs = nowMs
    numbers.underWay.add(nth)
    const value = Math.floor(nth / BITS) % 2 === 0 ? 1 : 0
    return {
      entry: { name: numbers.name, bit: nth % BITS, value },
      end: (isAnswered) => {
        numbers.underWay.delete(nth)
        if (!isAnswered && this.#numbers === numbers) this.#numbers = undefined
      },
    }
  }

  /** Returns the present note's commands; undefined if a new note must begin. */
  #usable(nowMs: number): Numbers | undefined {
    const numbers = this.#numbers
    if (numbers === undefined || nowMs - numbers.usedMs > LIFE_MS / 2) return undefined
    if (numbers.next - numbers.least < BITS) return numbers
    // The first of the set is the oldest.
    const [oldest = numbers.next] = numbers.underWay
    numbers.least = oldest
    return numbers.next - oldest < BITS ? numbers : undefined
  }

  #renew(nowMs: number): Numbers {
    // Ids are made here and not with the store, because Cloudflare Workers have no random numbers before the first request.
    const bytes = globalThis.crypto.getRandomValues(new Uint8Array(9))
    const id = btoa(String.fromCharCode(...bytes))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
    this.#numbers = { name: this.#nameOf(id), next: 0, underWay: new Set(), least: 0, usedMs: nowMs }
    return this.#numbers
  }
}
