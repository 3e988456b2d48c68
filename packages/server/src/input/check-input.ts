// Validates input against a schema and reports every problem with its place and the expected form.
// Supports the part of JSON Schema that the service's own schemas use. A schema's `title` describes the expected form in messages.
// Invariant: it finds a problem exactly where a JSON Schema validator finds one.

import type { Static, TSchema } from 'typebox'
import { type Problem, ServerError } from '../errors.ts'
import { show, suggest } from './near-word.ts'

/** The supported keywords. */
interface Schema {
  readonly title?: string
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  /** The schema of every property that `properties` does not name. Anything else means that there are no others. */
  readonly additionalProperties?: boolean | Schema
  readonly maxProperties?: number
  /** The schema of the names of all properties. */
  readonly propertyNames?: Schema
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

/** Throws ERR_INPUT with all problems, unless `value` is valid. `what` names the value in messages; `at` is its place in a larger one. */
export function checkInput<T extends TSchema>(schema: T, value: unknown, what: string, at = ''): asserts value is Static<T> {
  refuse(what, problemsIn(schema, value, at))
}

export function refuse(what: string, problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const [first] = problems
  const more = problems.length === 1 ? '' : ` (and ${problems.length - 1} more)`
  throw new ServerError('ERR_INPUT', `${what}: ${first.message}${more}`, { problems })
}

/** Returns all problems of `value`, whose place is `at`. */
export function problemsIn(schema: TSchema, value: unknown, at = ''): Problem[] {
  const problems: Problem[] = []
  checkValue(schema as Schema, value, at, problems)
  return problems
}

/** Returns the place of a member: `rules[0].limit`. */
export function within(at: string, member: string | number): string {
  if (typeof member === 'number') return `${at}[${member}]`
  return at === '' ? member : `${at}.${member}`
}

function checkValue(schema: Schema, value: unknown, at: string, problems: Problem[]): void {
  if (schema.anyOf !== undefined) checkChoice(schema, schema.anyOf, value, at, problems)
  else if (schema.type === 'object' && kindOf(value) === 'object') checkObject(schema, value as object, at, problems)
  else if (schema.type === 'array' && Array.isArray(value)) checkList(schema, value, at, problems)
  else if (!fits(schema, value)) problems.push(mismatch(schema, value, at))
}

function checkObject(schema: Schema, value: object, at: string, problems: Problem[]): void {
  const { properties = {}, additionalProperties: others, maxProperties = Number.POSITIVE_INFINITY } = schema
  const names = Object.keys(value)
  if (names.length > maxProperties) {
    problems.push({ at, message: `${at || 'it'} must have ${maxProperties} members at most, and has ${names.length}` })
    return
  }
  for (const name of names) {
    if (schema.propertyNames !== undefined && !fits(schema.propertyNames, name)) {
      const expected = expectationOf(schema.propertyNames)
      problems.push({ at: within(at, name), message: `a name in ${at || 'it'} must be ${expected}, got ${show(name)}` })
      continue
    }
    if (Object.hasOwn(properties, name)) continue
    if (typeof others === 'object') {
      checkValue(others, (value as Record<string, unknown>)[name], within(at, name), problems)
      continue
    }
    const hint = suggest(name, Object.keys(properties))
    problems.push({ at: within(at, name), message: `${at || 'it'} has no ${show(name)}: ${hint}` })
  }
  for (const [name, property] of Object.entries(properties)) {
    const member = within(at, name)
    if (Object.hasOwn(value, name)) checkValue(property, (value as Record<string, unknown>)[name], member, problems)
    else if (schema.required?.includes(name)) {
      problems.push({ at: member, message: `${member} is missing: it must be ${expectationOf(property)}` })
    }
  }
}

function checkList(schema: Schema, value: readonly unknown[], at: string, problems: Problem[]): void {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
  if (value.length < minItems || value.length > maxItems) {
    problems.push({ at, message: `${at || 'it'} must be ${expectationOf(schema)}, and has ${value.length}` })
    return
  }
  value.forEach((item, i) => {
    checkValue(schema.items ?? {}, item, within(at, i), problems)
  })
}

/** One of several forms: reports the problems of the form that was probably meant, if that is clear. */
function checkChoice(schema: Schema, choices: readonly Schema[], value: unknown, at: string, problems: Problem[]): void {
  if (choices.some((choice) => noProblems(choice, value))) return
  const ofKind = choices.filter((choice) => choice.anyOf === undefined && typesOf(choice).includes(kindOf(value)))
  const tag = ofKind.length > 1 ? tagOf(ofKind) : undefined
  if (tag !== undefined) {
    const given = (value as Record<string, unknown>)[tag]
    const meant = ofKind.find(({ properties }) => properties?.[tag].const === given)
    if (meant !== undefined) return checkValue(meant, value, at, problems)
    const tags = ofKind.map(({ properties }) => properties?.[tag].const)
    const member = within(at, tag)
    if (Object.hasOwn(value as object, tag)) problems.push(mismatch({ enum: tags }, given, member))
    else problems.push({ at: member, message: `${member} is missing: it must be ${expectationOf({ enum: tags })}` })
  } else if (ofKind.length === 1 && (kindOf(value) === 'object' || kindOf(value) === 'array')) {
    checkValue(ofKind[0], value, at, problems)
  } else {
    problems.push(mismatch(ofKind.length === 1 && schema.title === undefined ? ofKind[0] : schema, value, at))
  }
}

function noProblems(schema: Schema, value: unknown): boolean {
  const problems: Problem[] = []
  checkValue(schema, value, '', problems)
  return problems.length === 0
}

/** Returns the member whose constant distinguishes several kinds of objects. */
function tagOf(choices: readonly Schema[]): string | undefined {
  const [first, ...others] = choices.map(({ properties }) => properties ?? {})
  return Object.keys(first).find((name) => [first, ...others].every((properties) => properties[name]?.const !== undefined))
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

/** Returns the types of values that a schema accepts. */
function typesOf({ type, const: constant, enum: values }: Schema): readonly string[] {
  if (values !== undefined) return values.map(kindOf)
  if (constant !== undefined) return [kindOf(constant)]
  return [type === 'integer' ? 'number' : String(type)]
}

function fits(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined) return value === schema.const
  if (schema.enum !== undefined) return schema.enum.includes(value)
  switch (schema.type) {
    case undefined:
      return true
    case 'string':
      return typeof value === 'string' && fitsText(schema, value)
    case 'integer':
      return Number.isSafeInteger(value) && fitsRange(schema, value as number)
    default:
      return kindOf(value) === schema.type
  }
}

function fitsText({ minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern }: Schema, value: string): boolean {
  return value.length >= minLength && value.length <= maxLength && (pattern === undefined || expressionOf(pattern).test(value))
}

function fitsRange({ minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: Schema, value: number): boolean {
  return value >= minimum && value <= maximum
}

/** Compiled patterns. Bounded by the number of patterns in the schemas. */
const expressions = new Map<string, RegExp>()

function expressionOf(pattern: string): RegExp {
  let expression = expressions.get(pattern)
  if (expression === undefined) {
    expression = new RegExp(pattern, 'u')
    expressions.set(pattern, expression)
  }
  return expression
}

function mismatch(schema: Schema, value: unknown, at: string): Problem {
  const words = schema.enum?.filter((word) => typeof word === 'string')
  const hint = typeof value === 'string' && words !== undefined && words.length > 0 ? hintAt(value, words) : ''
  return { at, message: `${at || 'it'} must be ${expectationOf(schema)}, got ${show(value)}${hint}` }
}

function hintAt(value: string, words: readonly string[]): string {
  const hint = suggest(value, words)
  return hint.startsWith('did you mean') ? `: ${hint}` : ''
}

/** Describes the expected form of a schema for messages. */
function expectationOf(schema: Schema): string {
  const { title, type, minimum, maximum, minItems = 0, maxItems, maxLength, minLength = 0 } = schema
  if (title !== undefined) return title
  if (schema.const !== undefined) return show(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(show).join(' or ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(expectationOf).join(', or ')
  if (type === 'integer') return `a whole number${range(minimum, maximum)}`
  if (type === 'array') return `a list${maxItems === undefined ? '' : ` of ${minItems} to ${maxItems}`}`
  if (type === 'string') return `text${maxLength === undefined ? '' : ` of ${minLength} to ${maxLength} characters`}`
  return type === 'boolean' ? 'true or false' : 'an object'
}

function range(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum === undefined) return ''
  return maximum === undefined ? ` of at least ${minimum}` : ` from ${minimum} to ${maximum}`
}
