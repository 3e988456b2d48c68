// The programs that run in Redis: the general one for any calls, and a small one for each set of translations, for hits that all
// have the same rules. Their texts are joined when they are sent for the first time.

import type { Rule } from '../../core/rule.ts'
import { joinProgram } from './join-program.ts'
import { ALGORITHMS, GENERAL_SHA1, PARTS, SMALL_SHA1, TRANSLATIONS } from './program.ts'

export class RedisProgram {
  readonly sha1: string
  readonly #join: () => string
  #source: string | undefined

  constructor(sha1: string, join: () => string) {
    this.sha1 = sha1
    this.#join = join
  }

  get source(): string {
    this.#source ??= this.#join()
    return this.#source
  }
}

export const GENERAL_PROGRAM = new RedisProgram(GENERAL_SHA1, () => joinProgram(PARTS, TRANSLATIONS, 'general'))

const SMALL_PROGRAMS = SMALL_SHA1.map((sha1, i) => {
  const chosen = () => TRANSLATIONS.filter((_, bit) => ((i + 1) >> bit) % 2 === 1)
  return new RedisProgram(sha1, () => joinProgram(PARTS, chosen(), 'small'))
})

/** Returns the small program for hits on these rules. Invariant: there are translations of all of them. */
export function smallProgram(rules: readonly Rule[]): RedisProgram {
  const bits = rules.reduce((bits, { algorithm }) => bits | (1 << ALGORITHMS[algorithm].translation), 0)
  return SMALL_PROGRAMS[bits - 1]
}
