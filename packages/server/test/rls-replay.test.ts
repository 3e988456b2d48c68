// Files of the reference server, imported, against a model of its documented semantics: the same random requests get the same answers.

import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { roundsOf } from '../../../test/rounds.ts'
import { readEnvoyFile } from '../src/policies/envoy/envoy-file.ts'
import { policiesOf } from '../src/policies/envoy/envoy-policies.ts'
import { EnvoyModel, type ModelDescriptor, type ModelRequest, type ModelStatus } from './envoy-model.ts'
import { type Answer, RlsClient, rlsAddress } from './rls-client.ts'
import { advance, startService } from './running-service.ts'

const CODES = { OK: 1, OVER_LIMIT: 2 } as const

/** A file with everything that answers depend on. */
const WRITTEN = `
domain: written
descriptors:
  - key: a
    value: x
    rate_limit: { unit: minute, requests_per_unit: 7, name: exact }
    descriptors:
      - key: b
        value: y
        rate_limit: { unit: second, requests_per_unit: 2 }
  - key: a
    value: x*
    rate_limit: { unit: HOUR, requests_per_unit: 20 }
  - key: a
    rate_limit: { unit: day, requests_per_unit: 30 }
    descriptors:
      - key: b
        rate_limit: { unit: week, requests_per_unit: 5 }
  - key: b
    value: 'z*'
    share_threshold: true
    rate_limit: { unit: minute, requests_per_unit: 6 }
  - key: b
    value: y
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 3 }
  - key: b
    value: x
    rate_limit: { unlimited: true }
`

const VALUES = ['x', 'xy', 'xyz', 'y', 'z', 'zz', 'x|y', '']

/** A generator of numbers from 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

class Choices {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  below(most: number): number {
    return Math.floor(this.#random() * most)
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }

  /** A random tree of descriptors. */
  level(depth: number): readonly object[] {
    const found = new Map<string, object>()
    for (let i = this.below(5); i >= 0; i--) {
      const key = this.of(['a', 'b'])
      const value = this.of([undefined, 'x', 'xy', 'y', 'x*', 'z*', '*'])
      const limit = { unit: this.of(['second', 'minute', 'hour']), requests_per_unit: 1 + this.below(8) }
      found.set(`${key} ${value}`, {
        key,
        ...(value !== undefined && { value }),
        ...(this.below(4) > 0 && { rate_limit: this.below(9) === 0 ? { unlimited: true } : limit }),
        ...(this.below(6) === 0 && { shadow_mode: true }),
        ...(depth < 3 && this.below(2) === 0 && { descriptors: this.level(depth + 1) }),
      })
    }
    return [...found.values()]
  }

  request(): ModelRequest {
    const descriptors = Array.from({ length: 1 + this.below(6) }, () => this.#descriptor())
    return { domain: this.of(['written', 'random', 'random', 'unknown']), descriptors, hits_addend: this.of([0, 0, 0, 1, 2, 5]) }
  }

  #descriptor(): ModelDescriptor {
    const entries = Array.from({ length: 1 + this.below(3) }, () => ({ key: this.of(['a', 'b']), value: this.of(VALUES) }))
    return {
      entries,
      ...(this.below(5) === 0 && { hits_addend: { value: this.of([0, 1, 3, 9]) } }),
      ...(this.below(8) === 0 && { is_negative_hits: true }),
      ...(this.below(10) === 0 && { limit: { requests_per_unit: 1 + this.below(5), unit: 1 + this.below(6) } }),
    }
  }
}

/** The part of a status that a caller learns. If nothing is used, the model knows the end of a window that has not begun here. */
function learned({ code, limit, remaining, untilReset }: ModelStatus): object {
  if (limit === undefined) return { code: CODES[code], limit: null }
  const isUsed = remaining < limit.requests
  return { code: CODES[code], limit: limit.requests, remaining, ...(isUsed && { untilReset }) }
}

function answered({ code, current_limit, limit_remaining, duration_until_reset }: Answer['statuses'][number]): object {
  if (current_limit === null) return { code, limit: null }
  const limit = current_limit.requests_per_unit
  const isUsed = limit_remaining < limit
  return { code, limit, remaining: limit_remaining, ...(isUsed && { untilReset: duration_until_reset?.seconds }) }
}

test('thousands of random descriptors get the answers of the reference server', { timeout: 120_000 }, async () => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  const choices = new Choices(seed)
  const service = await startService({ flags: { rls: '127.0.0.1:0' } })
  const rls = new RlsClient(rlsAddress(service), { 'x-api-key': service.key })
  const files = [WRITTEN, stringify({ domain: 'random', descriptors: choices.level(1) })]
  const { specs } = policiesOf(files.map((file, i) => readEnvoyFile(`${i}.yaml`, file)))
  for (const spec of specs) {
    const { status, body } = await service.call('PUT', `/v1/policies/${spec.name}`, spec)
    expect({ status, body, seed }).toMatchObject({ status: 201 })
  }
  const model = new EnvoyModel(files)
  let denied = 0
  for (let round = roundsOf({ usual: 800, long: 50_000 }); round > 0; round--) {
    const request = choices.request()
    const expected = model.ask(request, Date.now())
    const { overall_code, statuses } = await rls.ask(request)
    const seen = { overall: overall_code, statuses: statuses.map(answered) }
    expect({ seed, round, request, ...seen }).toEqual({
      seed,
      round,
      request,
      overall: CODES[expected.overall as keyof typeof CODES],
      statuses: expected.statuses.map(learned),
    })
    if (overall_code === CODES.OVER_LIMIT) denied += 1
    if (choices.below(3) === 0) advance(choices.of([1, 300, 1000, 7000, 61_000]))
  }
  // Limits are random, so the number differs from seed to seed.
  expect(denied).toBeGreaterThan(10)
})
