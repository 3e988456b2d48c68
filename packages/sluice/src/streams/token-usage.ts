// Counts the tokens of a language model's answer, from the usage that its API reports in server-sent events.
// Invariant: bytes that are no such events, or events that are wrong, leave the usage unknown. They never throw.

import { mustBe } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Cost } from '../core/subject.ts'
import { isWhole, MAX } from '../core/whole-numbers.ts'
import type { StreamCounter } from './counting.ts'
import { EventReader } from './event-reader.ts'

/** The tokens of one answer. */
export interface TokenUsage {
  /** Tokens of the prompt, including those that were read from a cache or written to it. */
  readonly inputTokens: number
  /** Tokens of the prompt that were read from a cache. */
  readonly cachedTokens: number
  /** Tokens of the prompt that were written to a cache. */
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  /** True if the API has reported all numbers. False if the stream broke off before: then some are estimates. */
  readonly isReported: boolean
}

export interface UsageOptions {
  /**
   * Returns the units that an answer uses: a number for all held rules, or an object with a number for each rule name. Numbers must
   * be whole: round prices up.
   */
  units(usage: TokenUsage): Cost
  /** An estimate of the prompt's tokens, for a stream that breaks off before the API reports them. */
  readonly inputTokens?: number
  /**
   * Estimates the tokens of a piece of the answer, for a stream that breaks off. Without it, such a stream is charged all that is
   * held.
   */
  tokensOf?(text: string): number
  /** The longest event that is read, in bytes. Longer events are ignored. Default: 1 MiB. */
  readonly maxEventBytes?: number
}

/** A part of parsed JSON, of which nothing is known. */
export type Json = unknown

/** Reads the events of one API. */
export interface UsageDialect {
  /** Returns the usage in an event; undefined if it has none. */
  usageOf(event: Json): ReportedUsage | undefined
  /** Returns the pieces of the answer in an event. */
  textsOf(event: Json): readonly Json[]
}

/** Numbers of an event. Those that are undefined are not in it, or are not whole. */
export interface ReportedUsage {
  readonly inputTokens: number | undefined
  readonly cachedTokens: number | undefined
  readonly cacheWriteTokens: number | undefined
  readonly outputTokens: number | undefined
  /** True if no event after it reports more. */
  readonly isLast: boolean
}

const OPTIONS = ['units', 'inputTokens', 'tokensOf', 'maxEventBytes'] as const

const DEFAULT_EVENT_BYTES = 2 ** 20
const MOST_EVENT_BYTES = 2 ** 28

/** The data of OpenAI's last event. */
const DONE = '[DONE]'

/** Makes the counter of an API. `name` is the function that got the options, for messages. */
export function usageCounter(name: string, options: UsageOptions, dialect: UsageDialect): StreamCounter<string | Uint8Array> {
  checkOptions(name, options, OPTIONS)
  const { units, inputTokens, tokensOf, maxEventBytes = DEFAULT_EVENT_BYTES } = options
  if (typeof units !== 'function') throw mustBe('ERR_OPTION', 'units', 'a function of the usage', units)
  if (tokensOf !== undefined && typeof tokensOf !== 'function') {
    throw mustBe('ERR_OPTION', 'tokensOf', 'a function of a text', tokensOf)
  }
  if (inputTokens !== undefined && !isWhole(inputTokens, 0)) {
    throw mustBe('ERR_OPTION', 'inputTokens', 'a whole number of at least 0', inputTokens)
  }
  if (!isWhole(maxEventBytes, 1, MOST_EVENT_BYTES)) {
    throw mustBe('ERR_OPTION', 'maxEventBytes', `a whole number from 1 to ${MOST_EVENT_BYTES}`, maxEventBytes)
  }
  return new UsageCounter(options, dialect, maxEventBytes)
}

class UsageCounter implements StreamCounter<string | Uint8Array> {
  readonly #options: UsageOptions
  readonly #dialect: UsageDialect
  readonly #events: EventReader
  readonly #encoder = new TextEncoder()
  /** The largest numbers that were reported. Reports are cumulative. */
  #input: number | undefined
  #cached = 0
  #cacheWrite = 0
  #output: number | undefined
  #isReported = false
  /** The estimate of the answer so far. */
  #estimate = 0

  constructor(options: UsageOptions, dialect: UsageDialect, maxEventBytes: number) {
    this.#options = options
    this.#dialect = dialect
    this.#events = new EventReader(maxEventBytes, (data) => this.#read(data))
  }

  add(chunk: string | Uint8Array): void {
    this.#events.add(this.#bytesOf(chunk))
  }

  total(): Cost | undefined {
    this.#events.end()
    const { units, tokensOf, inputTokens } = this.#options
    const input = this.#input ?? inputTokens
    const isKnown = this.#isReported || tokensOf !== undefined
    if (!isKnown || input === undefined) return undefined
    const output = this.#isReported ? (this.#output ?? 0) : Math.max(this.#output ?? 0, this.#estimate)
    return units({
      inputTokens: input,
      cachedTokens: Math.min(this.#cached, input),
      cacheWriteTokens: Math.min(this.#cacheWrite, input),
      outputTokens: output,
      isReported: this.#isReported,
    })
  }

  #bytesOf(chunk: unknown): Uint8Array {
    if (typeof chunk === 'string') return this.#encoder.encode(chunk)
    if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk)
    if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    throw mustBe('ERR_OPTION', 'a chunk', 'bytes or text', chunk)
  }

  #read(data: string): void {
    if (data === DONE) {
      this.#isReported ||= this.#output !== undefined
      return
    }
    const { tokensOf } = this.#options
    // Most events are pieces of the answer. They are parsed only for an estimate.
    if (tokensOf === undefined && !data.includes('"usage"')) return
    const event = parse(data)
    this.#take(this.#dialect.usageOf(event))
    if (tokensOf === undefined) return
    for (const text of this.#dialect.textsOf(event)) {
      if (typeof text === 'string' && text !== '') this.#estimate = Math.min(MAX, this.#estimate + estimateOf(tokensOf(text)))
    }
  }

  #take(usage: ReportedUsage | undefined): void {
    if (usage === undefined) return
    const { inputTokens, cachedTokens = 0, cacheWriteTokens = 0, outputTokens, isLast } = usage
    if (inputTokens !== undefined) this.#input = Math.max(this.#input ?? 0, inputTokens)
    if (outputTokens !== undefined) this.#output = Math.max(this.#output ?? 0, outputTokens)
    this.#cached = Math.max(this.#cached, cachedTokens)
    this.#cacheWrite = Math.max(this.#cacheWrite, cacheWriteTokens)
    this.#isReported ||= isLast && this.#input !== undefined && outputTokens !== undefined
  }
}

function estimateOf(tokens: unknown): number {
  if (typeof tokens === 'number' && tokens >= 0 && tokens <= MAX) return Math.ceil(tokens)
  throw mustBe('ERR_COST', 'tokensOf()', 'a number of at least 0', tokens)
}

/** Returns parsed JSON; undefined if the text is none. */
function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns a member of parsed JSON; undefined if there is none. */
export function memberOf(json: Json, name: string): Json {
  if (typeof json !== 'object' || json === null || !Object.hasOwn(json, name)) return undefined
  return (json as Readonly<Record<string, Json>>)[name]
}

/** Returns a number of tokens; undefined if it is none. */
export function tokensIn(json: Json, name: string): number | undefined {
  const tokens = memberOf(json, name)
  return isWhole(tokens, 0) ? tokens : undefined
}

/** Returns the elements of parsed JSON; none if it is not a list. */
export function elementsOf(json: Json): readonly Json[] {
  return Array.isArray(json) ? json : []
}
