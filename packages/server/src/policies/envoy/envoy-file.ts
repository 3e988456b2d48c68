// Reads a configuration file of the reference server (envoyproxy/ratelimit): a domain, and a tree of descriptors with limits.
// Invariant: a key that is not known is an error, as it is there. All problems of a file are reported.

import Type, { type Static } from 'typebox'
import { messageOf, type Problem, ServerError } from '../../errors.ts'
import { checkInput, problemsIn, refuse, within } from '../../input/check-input.ts'
import { show } from '../../input/near-word.ts'
import { parseEnvoyYaml } from './envoy-yaml.ts'
import { UNITS, type UnitName } from './units.ts'

const strict = { additionalProperties: false } as const

const Text = Type.String({ minLength: 1, maxLength: 256, title: 'a text of 1 to 256 characters' })
const Flag = Type.Optional(Type.Boolean())
const Descriptors = Type.Optional(Type.Array(Type.Unknown(), { maxItems: 10_000, title: 'a list of descriptors' }))

const FileSchema = Type.Object({ domain: Text, descriptors: Descriptors }, { ...strict, title: 'a domain with descriptors' })

const LimitSchema = Type.Object(
  {
    unit: Type.Optional(Type.String({ title: `one of ${Object.keys(UNITS).join(', ')}` })),
    requests_per_unit: Type.Optional(Type.Integer({ minimum: 0, maximum: 0xffff_ffff, title: 'a whole number below 2^32' })),
    unlimited: Flag,
    name: Type.Optional(Type.String({ maxLength: 256 })),
    replaces: Type.Optional(Type.Array(Type.Object({ name: Text }, strict), { title: 'a list of names' })),
  },
  { ...strict, title: 'a limit' },
)

const DescriptorSchema = Type.Object(
  {
    key: Text,
    value: Type.Optional(Type.String({ maxLength: 256, title: 'a text of up to 256 characters' })),
    rate_limit: Type.Optional(LimitSchema),
    shadow_mode: Flag,
    quota_mode: Flag,
    detailed_metric: Flag,
    value_to_metric: Flag,
    share_threshold: Flag,
    metadata: Type.Optional(Type.Unknown()),
    descriptors: Descriptors,
  },
  { ...strict, title: 'a descriptor' },
)

type WrittenDescriptor = Static<typeof DescriptorSchema>

/** The deepest nesting. A request has no more entries. */
const MOST_LEVELS = 15

export interface EnvoyLimit {
  readonly unit: UnitName
  readonly requestsPerUnit: number
  readonly name: string | undefined
}

/** One descriptor of the tree. */
export interface EnvoyDescriptor {
  /** Its place in the file. */
  readonly at: string
  readonly key: string
  /** `''` for every value. A star at the end stands for any rest. */
  readonly value: string
  /** Undefined if the descriptor has no limit of its own. */
  readonly limit: EnvoyLimit | 'unlimited' | undefined
  readonly isShadow: boolean
  /** True if all values that the wildcard matches share one counter. */
  readonly isShared: boolean
  readonly children: readonly EnvoyDescriptor[]
}

export interface EnvoyFile {
  readonly domain: string
  readonly descriptors: readonly EnvoyDescriptor[]
  /** Settings that have no effect here, or another one. */
  readonly differences: readonly Problem[]
}

/** Throws ERR_INPUT with all problems. `path` is the name of the file. */
export function readEnvoyFile(path: string, text: string): EnvoyFile {
  const written = parsed(path, text)
  checkInput(FileSchema, written, path)
  const { domain, descriptors = [] } = written
  if (domain.includes('*'))
    throw new ServerError('ERR_INPUT', `${path} has the domain ${show(domain)}: a star is not possible there`)
  const reader = new LevelReader()
  const read = reader.read(descriptors, 'descriptors', 1)
  refuse(path, reader.problems)
  const differences = reader.differences.map(({ at, message }) => ({ at, message: `${path}: ${message}` }))
  return { domain, descriptors: read, differences }
}

function parsed(path: string, text: string): unknown {
  try {
    return parseEnvoyYaml(text)
  } catch (error) {
    throw new ServerError('ERR_INPUT', `${path} is not YAML: ${messageOf(error)}`)
  }
}

class LevelReader {
  readonly problems: Problem[] = []
  readonly differences: Problem[] = []

  read(written: readonly unknown[], at: string, level: number): readonly EnvoyDescriptor[] {
    const places = new Map<string, string>()
    return written.flatMap((each, i) => {
      const place = within(at, i)
      const found = problemsIn(DescriptorSchema, each, place)
      this.problems.push(...found)
      if (found.length > 0) return []
      const descriptor = this.#readOne(each as WrittenDescriptor, place, level)
      const mark = JSON.stringify([descriptor.key, descriptor.value])
      const other = places.get(mark)
      if (other !== undefined) this.#refuse(place, `has the key and the value of ${other}`)
      places.set(mark, place)
      return descriptor
    })
  }

  #readOne(written: WrittenDescriptor, at: string, level: number): EnvoyDescriptor {
    const { key, value = '', rate_limit, shadow_mode: isShadow = false, share_threshold: isShared = false } = written
    const { descriptors = [] } = written
    if (key.includes('*')) this.#refuse(at, `has the key ${show(key)}: a star is possible only in a value`)
    if (value.slice(0, -1).includes('*')) {
      this.#refuse(at, `has the value ${show(value)}: a star is possible only at the end`)
    }
    if (isShared && !value.includes('*')) this.#refuse(at, 'has share_threshold without a star in its value')
    if (level > MOST_LEVELS) this.#refuse(at, `is nested more than ${MOST_LEVELS} levels deep`)
    this.#compare(written, at)
    const limit = rate_limit === undefined ? undefined : this.#readLimit(rate_limit, within(at, 'rate_limit'))
    const children = level > MOST_LEVELS ? [] : this.read(descriptors, within(at, 'descriptors'), level + 1)
    return { at, key, value, limit, isShadow, isShared, children }
  }

  #readLimit(written: Static<typeof LimitSchema>, at: string): EnvoyLimit | 'unlimited' | undefined {
    const { unit, requests_per_unit: requestsPerUnit = 0, unlimited, name = '', replaces } = written
    if (replaces?.length === 0) this.#refuse(at, 'has an empty list replaces')
    if (replaces?.some((each) => each.name === name)) this.#refuse(at, 'replaces itself')
    if (replaces !== undefined) this.#differ(at, 'replaces has no effect: both limits apply')
    if (unlimited === true) {
      if (unit !== undefined) this.#refuse(at, 'is unlimited, and has a unit')
      return 'unlimited'
    }
    const known = unit?.toLowerCase()
    if (known === undefined || !Object.hasOwn(UNITS, known)) {
      this.#refuse(at, `must have a unit, one of ${Object.keys(UNITS).join(', ')}, got ${show(unit)}`)
      return undefined
    }
    const isUsable = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/.test(name)
    if (name !== '' && !isUsable) this.#differ(at, `the name ${show(name)} cannot be the name of a rule: it is called ${known}`)
    return { unit: known as UnitName, requestsPerUnit, name: isUsable ? name : undefined }
  }

  #compare(written: WrittenDescriptor, at: string): void {
    if (written.quota_mode) this.#differ(at, 'quota_mode has no effect: the limit denies by itself')
    if (written.metadata !== undefined) this.#differ(at, 'metadata is not returned')
    if (written.detailed_metric || written.value_to_metric) this.#differ(at, 'metrics are counted by policy, and not by value')
  }

  #refuse(at: string, message: string): void {
    this.problems.push({ at, message: `${at} ${message}` })
  }

  #differ(at: string, message: string): void {
    this.differences.push({ at, message: `${at}: ${message}` })
  }
}
