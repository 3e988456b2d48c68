// A slow model of the reference server, written from its documented semantics: it reads the same files, walks the tree for each
// descriptor, and keeps one count for each counter key. It shares no code with the service.

import { parse } from 'yaml'

interface Node {
  readonly key: string
  readonly value?: string
  readonly rate_limit?: {
    readonly unit?: string
    readonly requests_per_unit?: number
    readonly unlimited?: boolean
    readonly name?: string
  }
  readonly shadow_mode?: boolean
  readonly share_threshold?: boolean
  readonly descriptors?: readonly Node[]
}

export interface ModelDescriptor {
  readonly entries: readonly { readonly key: string; readonly value: string }[]
  readonly limit?: { readonly requests_per_unit: number; readonly unit: number }
  readonly hits_addend?: { readonly value: number }
  readonly is_negative_hits?: boolean
}

export interface ModelRequest {
  readonly domain: string
  readonly descriptors: readonly ModelDescriptor[]
  readonly hits_addend?: number
}

export interface ModelStatus {
  readonly code: 'OK' | 'OVER_LIMIT'
  /** Undefined if there is no limit. */
  readonly limit?: { readonly requests: number; readonly seconds: number }
  readonly remaining: number
  readonly untilReset: number
}

const SECONDS: Readonly<Record<string, number>> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
}

const UNIT_NUMBERS = ['', 'second', 'minute', 'hour', 'day', 'month', 'year', 'week']

interface Found {
  readonly requests: number
  readonly seconds: number
  readonly isShadow: boolean
  readonly isUnlimited: boolean
  readonly counter: string
}

export class EnvoyModel {
  readonly #domains = new Map<string, readonly Node[]>()
  readonly #counts = new Map<string, number>()

  constructor(files: readonly string[]) {
    for (const file of files) {
      const { domain, descriptors = [] } = parse(file)
      this.#domains.set(domain, descriptors)
    }
  }

  /** The status of each descriptor, and the overall code. */
  ask(
    { domain, descriptors, hits_addend = 0 }: ModelRequest,
    nowMs: number,
  ): { overall: string; statuses: readonly ModelStatus[] } {
    const now = Math.floor(nowMs / 1000)
    const statuses = descriptors.map((descriptor) => this.#askOne(domain, descriptor, hits_addend, now))
    return { overall: statuses.some(({ code }) => code === 'OVER_LIMIT') ? 'OVER_LIMIT' : 'OK', statuses }
  }

  #askOne(domain: string, descriptor: ModelDescriptor, ofRequest: number, now: number): ModelStatus {
    const found = this.#find(domain, descriptor)
    if (found === undefined) return { code: 'OK', remaining: 0, untilReset: 0 }
    if (found.isUnlimited) return { code: 'OK', remaining: 4294967295, untilReset: 0 }
    const { requests, seconds, isShadow, counter } = found
    const hits = descriptor.hits_addend === undefined ? Math.max(ofRequest, 1) : descriptor.hits_addend.value
    const key = `${counter} ${Math.floor(now / seconds) * seconds}`
    const before = this.#counts.get(key) ?? 0
    const after = Math.max(0, before + (descriptor.is_negative_hits ? -hits : hits))
    this.#counts.set(key, after)
    const isOver = after > requests
    return {
      code: isOver && !isShadow ? 'OVER_LIMIT' : 'OK',
      limit: { requests, seconds },
      remaining: Math.max(0, requests - after),
      untilReset: seconds - (now % seconds),
    }
  }

  #find(domain: string, { entries, limit }: ModelDescriptor): Found | undefined {
    const counter = JSON.stringify([domain, entries.map(({ key, value }) => [key, value])])
    if (limit !== undefined) {
      const seconds = SECONDS[UNIT_NUMBERS[limit.unit]]
      return {
        requests: limit.requests_per_unit,
        seconds,
        isShadow: false,
        isUnlimited: false,
        counter: `override ${seconds} ${counter}`,
      }
    }
    let level = this.#domains.get(domain) ?? []
    let node: Node | undefined
    const counted: unknown[] = [domain]
    for (const { key, value } of entries) {
      node =
        level.find((each) => each.key === key && each.value === value) ??
        level.find((each) => each.key === key && each.value?.endsWith('*') && value.startsWith(each.value.slice(0, -1))) ??
        level.find((each) => each.key === key && each.value === undefined)
      if (node === undefined) return undefined
      counted.push([key, node.share_threshold ? node.value : value])
      level = node.descriptors ?? []
    }
    const rate = node?.rate_limit
    if (rate === undefined) return undefined
    return {
      requests: rate.requests_per_unit ?? 0,
      seconds: SECONDS[rate.unit?.toLowerCase() ?? 'second'],
      isShadow: node?.shadow_mode === true,
      isUnlimited: rate.unlimited === true,
      counter: JSON.stringify(counted),
    }
  }
}
