// Traffic for the playground: the times of hits, and the retries of a denied client.
// Invariant: the same set-up gives the same milliseconds on every machine. All times are whole numbers, randomness has a seed.

import { typedDurationMs } from '../forms/duration-text.ts'
import { type Draft, type OptionForm, optionValues, startDraft } from '../forms/option-form.ts'
import type { Traffic, Work } from '../lanes/run-rule.ts'

export type Shape = 'bursts' | 'steady' | 'random' | 'retrying' | 'working'

export interface ShapeForm {
  readonly title: string
  readonly says: string
  readonly options: readonly OptionForm[]
}

const hits = (label: string, start: string): OptionForm => ({ name: 'hits', label, kind: 'units', start })
const every = (label: string, start: string): OptionForm => ({ name: 'every', label, kind: 'duration', start })

export const SHAPES: Readonly<Record<Shape, ShapeForm>> = {
  bursts: {
    title: 'Bursts at the boundary',
    says: 'One burst just before a boundary of the clock and one just after it, at every second boundary.',
    options: [
      hits('Hits in each burst', '10'),
      every('Boundary every', '10s'),
      { name: 'within', label: 'Each burst within', kind: 'duration', start: '400ms' },
    ],
  },
  steady: {
    title: 'Steady',
    says: 'Evenly spaced hits.',
    options: [hits('Hits', '15'), every('Every', '10s')],
  },
  random: {
    title: 'Random',
    says: 'Hits at random times. The same seed gives the same times.',
    options: [hits('Hits, on average', '15'), every('Every', '10s'), { name: 'seed', label: 'Seed', kind: 'units', start: '1' }],
  },
  retrying: {
    title: 'A retrying client',
    says: 'Evenly spaced jobs. A job whose hit is denied tries again until it passes.',
    options: [
      hits('Jobs', '12'),
      every('Every', '10s'),
      {
        name: 'retry',
        label: 'Tries again',
        kind: 'choice',
        choices: [
          ['told', 'when it was told to'],
          ['500ms', 'every 500 ms'],
          ['1s', 'every second'],
          ['3s', 'every 3 seconds'],
        ],
        start: '1s',
      },
    ],
  },
  working: {
    title: 'Work that takes time',
    says: 'Evenly spaced jobs. Each holds units until it ends, and settles what it used. Under concurrency, each holds a place.',
    options: [
      hits('Jobs', '6'),
      every('Every', '10s'),
      { name: 'takes', label: 'Each takes', kind: 'duration', start: '4s' },
      { name: 'holds', label: 'Each holds', kind: 'units', start: '3' },
      {
        name: 'settles',
        label: 'At its end it settles',
        kind: 'choice',
        choices: [
          ['low', 'one unit'],
          ['same', 'all that it held'],
          ['high', 'twice what it held'],
          ['never', 'nothing: it crashed'],
        ],
        start: 'low',
      },
      { name: 'expires', label: 'A hold expires after', kind: 'duration', start: '10s' },
    ],
  },
}

export const SHAPE_NAMES = Object.keys(SHAPES) as Shape[]

export function isShape(name: string): name is Shape {
  return Object.hasOwn(SHAPES, name)
}

/** Traffic while it is edited. */
export interface TrafficDraft {
  readonly shape: Shape
  readonly options: Draft
}

/** Largest number of arrivals. A picture cannot show more, and every keystroke runs all of them. */
export const MOST_ARRIVALS = 5000

export function newTraffic(shape: Shape, options: Draft = {}): TrafficDraft {
  return { shape, options: { ...startDraft(SHAPES[shape].options), ...options } }
}

/** Throws an Error that says what is wrong. */
export function readTraffic({ shape, options: draft }: TrafficDraft, lengthMs: number): Traffic {
  const options = optionValues(SHAPES[shape].options, draft)
  const count = whole('the number of hits', options.hits, 1)
  const everyMs = typedDurationMs(String(options.every))
  const most = shape === 'bursts' ? count * 2 * Math.ceil(lengthMs / everyMs / 2) : Math.ceil((lengthMs * count) / everyMs)
  if (most > MOST_ARRIVALS) {
    throw new Error(`the picture holds ${MOST_ARRIVALS} hits at most, and this would be ${most}: make it shorter or slower`)
  }
  if (shape === 'bursts') {
    return { arrivals: bursts(count, everyMs, typedDurationMs(String(options.within)), lengthMs), retry: undefined }
  }
  if (shape === 'random') return { arrivals: random(most, whole('the seed', options.seed, 0), lengthMs), retry: undefined }
  if (shape === 'working') {
    return { arrivals: steady(count, everyMs, lengthMs), retry: undefined, work: readWork(options) }
  }
  const retry = shape === 'steady' ? undefined : options.retry === 'told' ? 'retry-after' : typedDurationMs(String(options.retry))
  return { arrivals: steady(count, everyMs, lengthMs), retry }
}

function readWork({ takes, holds, settles, expires }: Readonly<Record<string, unknown>>): Work {
  const units = whole('the number of held units', holds, 1)
  const uses: Readonly<Record<string, number>> = { low: 1, same: units, high: 2 * units }
  return {
    takesMs: typedDurationMs(String(takes)),
    units,
    uses: uses[String(settles)],
    ttlMs: typedDurationMs(String(expires)),
  }
}

function steady(count: number, everyMs: number, lengthMs: number): number[] {
  const times: number[] = []
  for (let i = 0, atMs = 0; atMs < lengthMs; i++, atMs = Math.floor((i * everyMs) / count)) times.push(atMs)
  return times
}

function bursts(count: number, everyMs: number, withinMs: number, lengthMs: number): number[] {
  if (withinMs * 2 > everyMs) throw new Error('a burst must be no longer than half the time between two boundaries')
  const times: number[] = []
  for (let boundaryMs = everyMs; boundaryMs - withinMs < lengthMs; boundaryMs += 2 * everyMs) {
    for (const startMs of [boundaryMs - withinMs, boundaryMs]) {
      for (let i = 0; i < count; i++) times.push(startMs + Math.floor((i * withinMs) / count))
    }
  }
  return times.filter((atMs) => atMs < lengthMs)
}

function random(count: number, seed: number, lengthMs: number): number[] {
  const next = randomNumbers(seed)
  return Array.from({ length: count }, () => Math.floor(next() * lengthMs)).sort((a, b) => a - b)
}

/** Returns a generator of numbers from 0 to below 1: a mixed Weyl sequence. */
function randomNumbers(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

function whole(what: string, value: unknown, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
  throw new Error(`${what} must be a whole number of at least ${least}, got '${value}'`)
}
