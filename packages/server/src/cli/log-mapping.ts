// Options of `sluice simulate` that say which fields of a log are the parts of a request.

import { InvalidArgumentError } from 'commander'
import type { PathFold } from 'sluice/http'
import { LIMITS } from '../contract/limits.ts'
import { checkInput } from '../input/check-input.ts'
import { AttributeName } from '../policies/policy-schema.ts'
import type { FieldMapping, RoutePrefix } from '../simulate/forms/entry-reader.ts'
import { UsageError } from './exit-codes.ts'

export interface MappingOptions {
  readonly client?: readonly string[]
  readonly time?: readonly string[]
  readonly route?: readonly string[]
  readonly path?: readonly string[]
  readonly method?: readonly string[]
  readonly host?: readonly string[]
  readonly cost?: readonly string[]
  readonly attribute?: readonly string[]
  readonly with?: readonly RoutePrefix[]
  readonly fold?: readonly PathFold[]
}

export function mappingFrom({
  client,
  time,
  path,
  method,
  host,
  route,
  cost,
  attribute = [],
  ...options
}: MappingOptions): FieldMapping {
  const attributes = Object.fromEntries(
    attribute.map((written) => {
      const equals = written.indexOf('=')
      if (equals < 1 || equals === written.length - 1) throw new UsageError(`--attribute takes name=field, got ${written}`)
      const name = written.slice(0, equals)
      checkInput(AttributeName, name, '--attribute')
      return [name, written.slice(equals + 1)]
    }),
  )
  if (attribute.length > LIMITS.mostAttributes) throw new UsageError(`a request has at most ${LIMITS.mostAttributes} attributes`)
  if (route !== undefined && path !== undefined) throw new UsageError('give either --route or --path')
  if (route !== undefined && options.with !== undefined) throw new UsageError('--with is for a path: leave it out with --route')
  return {
    ...{ attributes, prefixes: options.with ?? [], fold: options.fold ?? [] },
    ...(client && { client }),
    ...(time && { time }),
    ...(path && { path }),
    ...(method && { method }),
    ...(host && { host }),
    ...(route && { route }),
    ...(cost && { cost }),
  }
}

/** CSV has no heading if every field is a column number. */
export function hasHeading({ client, time, path, route, cost, attributes }: FieldMapping): boolean {
  const fields = [client, time, path ?? route, cost ?? [], Object.values(attributes ?? {})]
  return !fields.every((each) => each?.every((field) => field.startsWith('#')))
}

export function names(text: string): readonly string[] {
  const list = text.split(',').map((name) => name.trim())
  if (list.every((name) => name !== '')) return list
  throw new InvalidArgumentError('It must be a name, or names with commas between.')
}

export function listOf<T extends string>(known: readonly T[]): (text: string) => readonly T[] {
  return (text) => {
    const list = text.split(',') as T[]
    if (list.every((word) => known.includes(word))) return list
    throw new InvalidArgumentError(`It must be one or several of ${known.join(', ')}, with commas between.`)
  }
}

export function delimiter(text: string): string {
  if (text === 'tab') return '\t'
  if (text.length === 1 && text !== '"') return text
  throw new InvalidArgumentError('It must be one character, or the word tab.')
}

export function time(text: string): Date {
  const date = new Date(text)
  if (!Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError('It must be a time such as 2027-01-31T00:00:00Z.')
}
