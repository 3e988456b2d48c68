// The scripted engine: a translation of the definitions runs on the store's server. All calls of one turn of the event loop are
// sent together, as one command for each part of the store.

import type { Call, Charge, Figures } from '../core/call.ts'
import type { Clock } from '../core/clock.ts'
import type { SluiceError } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import type { Asker, PartOutcomes, Store, Tally, ToldAsker } from '../core/store.ts'
import { storeGuard } from '../failure/store-health.ts'
import { type AskPart, askInParts, type PartOfCall } from './call-in-parts.ts'
import { DescribedRules } from './described-rules.ts'
import { withKeptTimer } from './kept-timer.ts'
import { PartsAsked } from './parts-asked.ts'
import { type AskAgain, type MOVED, type QueuedCall, ScriptedQueue } from './scripted-queue.ts'
import { type SortError, storeError } from './store-errors.ts'
import { checkedClock, systemClock } from './system-clock.ts'

export { MOVED } from './scripted-queue.ts'

/** A call for the script. All states of its charges are in one part. */
export interface ScriptedCall<D> extends Call {
  /** The description of the charges' rules, as `describe` made it. */
  readonly rules: D
}

/**
 * The figures of a call, or the error of this call alone, or `MOVED` if its states are not in the part that was asked. An error or
 * `MOVED` means that the script wrote nothing for the call.
 */
export type ScriptedAnswer = Figures | SluiceError | typeof MOVED

/**
 * The author's part of a scripted store: functions that talk to the server. The engine gathers calls, keeps their order, splits
 * calls with charges in several parts, and handles failures. `D` is the type in which `describe` describes rules to the script.
 */
export interface ScriptedOptions<D> {
  /** Times deadlines in this process. Default: the system's clock. Rules use the server's own clock. */
  readonly clock?: Clock
  /** The most calls in one command. */
  readonly most: number
  /**
   * The least number of calls that are worth a command of their own. If it is set, calls that follow the answers of one command may be
   * sent as several commands, so that the server decides while callers run. Default: they are one command. Set it if a command costs no
   * more than a fraction of a millisecond.
   */
  readonly leastOverlapped?: number | undefined
  /**
   * Describes rules for the script. Called once for each list of rules, and again with other parameters of a rule that has `around`.
   * Throws ERR_RULE if the script has no translation of a rule.
   */
  describe(rules: readonly Rule[]): D
  /**
   * Executes calls in their order, each as the atomic step that `step` defines. Resolves to an answer for each call. Called once
   * for each part and turn, or more often if there are more than `most` calls.
   */
  execute(part: string, calls: readonly ScriptedCall<D>[]): Promise<readonly ScriptedAnswer[]>
  /**
   * Sorts an error of `execute`. If it returns undefined, codes of Node and of standard SQL decide. Without such a code, the error
   * is `unknown`.
   */
  sortError?: SortError
  /** Returns the name of the part that keeps all states of a key, such as a node of a cluster. Default: the store is one part. */
  partOf?(key: string): string
  /**
   * Returns the name of a smaller part that keeps all states of a key wherever they are, such as the key itself. A call that
   * was answered with `MOVED` is asked once more, in these parts. Default: such a call is refused.
   */
  exactPartOf?(key: string): string
  /** Returns the name of the server of a part. Servers fail independently. Default: each part is a server. */
  serverOf?(part: string): string
  /** False while the server would refuse commands. Default: always true. */
  isOpen?(): boolean
  /** Drops states that have ended. Returns their number. Omitted if the server drops them by itself. */
  clean?(): Promise<number>
  /** Number of states. */
  size(): Promise<number>
  close?(): Promise<void>
}

/** Makes a store from a connection to a server that runs the definitions as a script. */
export function scriptedStore<D>(options: ScriptedOptions<D>): Store<'async'> {
  const queue = new ScriptedQueue(options)
  const clock = options.clock === undefined ? systemClock : checkedClock(options.clock)
  return {
    timing: 'async',
    clock,
    guard: storeGuard(withKeptTimer(clock)),
    tally: (rules) => new QueuedTally({ options, clock, queue, rules }),
    clean: async () => options.clean?.() ?? 0,
    get size() {
      return options.size()
    },
    close: async () => options.close?.(),
  }
}

/** Name of the only part of a store without parts. */
const WHOLE = ''

/** Costs by rule may leave out any rules. Beyond so many lists of rules, all descriptions are forgotten. */
const MOST_DESCRIBED = 256

interface TallyParts<D> {
  readonly options: ScriptedOptions<D>
  readonly clock: Clock
  readonly queue: ScriptedQueue<D>
  readonly rules: readonly Rule[]
}

class QueuedTally<D> implements Tally<'async'> {
  readonly #options: ScriptedOptions<D>
  readonly #queue: ScriptedQueue<D>
  readonly #rules: readonly Rule[]
  readonly #clock: Clock
  /** The description of all rules. */
  readonly #all: DescribedRules<D>
  /** Descriptions of other lists of rules, by their indexes. */
  readonly #some = new Map<string, DescribedRules<D>>()

  /** For each call that needs several parts, the outcome of each part. */
  readonly #asked = new WeakMap<Call, PartsAsked>()
  /** Set if the store has parts. Returns the name of every server that a call needs, starting with the first charge's server. */
  readonly partsOf?: (call: Call) => readonly string[]

  constructor({ options, clock, queue, rules }: TallyParts<D>) {
    this.#options = options
    this.#queue = queue
    this.#rules = rules
    this.#clock = clock
    this.#all = this.#described(rules)
    const { partOf } = options
    if (partOf !== undefined) this.partsOf = (call) => serversOf(call, (key) => partOf(key), options)
  }

  ask(call: Call, asker?: Asker): Promise<Figures> {
    const part = this.#onlyPartOf(call.charges)
    if (part !== undefined) return this.#askPart(part, call, asker)
    const asked = new PartsAsked()
    this.#asked.set(call, asked)
    const ask: AskPart = (part, partCall) => asked.note(serverOf(part, this.#options), this.#askPart(part, partCall))
    const parts = split(call.charges, (key) => this.#options.partOf?.(key) ?? WHOLE)
    return askInParts(call, parts, { rules: this.#rules, ask, asker })
  }

  askFor(call: Call, asker: ToldAsker): void {
    const part = this.#onlyPartOf(call.charges)
    if (part === undefined) asker.resolve(this.ask(call, asker))
    else this.#queue.add(part, this.#queued(call, asker, this.#askAgain, asker))
  }

  outcomesOf(call: Call): PartOutcomes | undefined {
    return this.#asked.get(call)?.outcomes
  }

  #askPart(part: string, call: Call, asker?: Asker, askAgain = this.#askAgain): Promise<Figures> {
    return new Promise((resolve, reject) => {
      this.#queue.add(part, this.#queued(call, asker, askAgain, { resolve, reject }))
    })
  }

  #queued(
    { operation, charges, hold }: Call,
    asker: Asker | undefined,
    askAgain: AskAgain,
    told: QueuedCall<D>['told'],
  ): QueuedCall<D> {
    return { operation, charges, hold, rules: this.#describe(charges), asker, askAgain, told }
  }

  /** Asks a call again whose states were not in its part. The call was not counted. */
  readonly #askAgain: AskAgain = async ({ operation, charges, hold }, asker) => {
    const { exactPartOf } = this.#options
    if (exactPartOf === undefined) throw movedError()
    const call = { operation, charges, hold }
    const parts = split(charges, exactPartOf)
    if (parts.length === 1) return this.#askPart(parts[0].part, call, asker, refuse)
    // One part of a hit in several parts, which has fallen into several itself. The hit gives back what it has charged.
    if (operation === 'timedHit') throw movedError()
    const ask: AskPart = (part, partCall) => this.#askPart(part, partCall, undefined, refuse)
    return askInParts(call, parts, { rules: this.#rules, ask, asker })
  }

  /** Returns the part of all charges; undefined if there are several parts. */
  #onlyPartOf(charges: readonly Charge[]): string | undefined {
    const options = this.#options
    if (options.partOf === undefined) return WHOLE
    const { key } = charges[0]
    const part = options.partOf(key)
    for (const charge of charges) if (charge.key !== key && options.partOf(charge.key) !== part) return undefined
    return part
  }

  #describe(charges: readonly Charge[]): D {
    if (charges.length === this.#rules.length) return this.#all.now
    const indexes = charges.length === 1 ? String(charges[0].rule) : charges.map(({ rule }) => rule).join()
    let described = this.#some.get(indexes)
    if (described === undefined) {
      if (this.#some.size === MOST_DESCRIBED) this.#some.clear()
      described = this.#described(charges.map(({ rule }) => this.#rules[rule]))
      this.#some.set(indexes, described)
    }
    return described.now
  }

  #described(rules: readonly Rule[]): DescribedRules<D> {
    return new DescribedRules({ rules, describe: (list) => this.#options.describe(list), now: () => this.#clock.now() })
  }
}

/**
 * Returns the parts of a call in one fixed order, the same in every process. If two calls compete for the last units of two parts,
 * the call that is first in the first part gets both.
 */
function split(charges: readonly Charge[], partOf: (key: string) => string): readonly PartOfCall[] {
  const parts = new Map<string, { part: string; charges: Charge[]; indexes: number[] }>()
  charges.forEach((charge, index) => {
    const part = partOf(charge.key)
    const found = parts.get(part) ?? { part, charges: [], indexes: [] }
    parts.set(part, found)
    found.charges.push(charge)
    found.indexes.push(index)
  })
  return [...parts.values()].sort((a, b) => (a.part < b.part ? -1 : 1))
}

function movedError(): SluiceError {
  return storeError('refused', 'the states of this call are moving between parts of the store')
}

/** Answers a call whose states are not in an exact part either. */
const refuse: AskAgain = () => Promise.reject(movedError())

function serversOf<D>({ charges }: Call, partOf: (key: string) => string, options: ScriptedOptions<D>): readonly string[] {
  const ofKey = (key: string): string => serverOf(partOf(key), options)
  return charges.length === 1 ? [ofKey(charges[0].key)] : [...new Set(charges.map(({ key }) => ofKey(key)))]
}

function serverOf<D>(part: string, options: ScriptedOptions<D>): string {
  return options.serverOf?.(part) ?? part
}
