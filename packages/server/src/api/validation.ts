// Holds what comes in against the schemas of a route: a compiled check for what is right, and words for what is not.

import type { FastifySchemaCompiler } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { ServerError } from '../errors.ts'
import { problemsIn, refuse } from '../input/check-input.ts'
import { UNREADABLE_QUERY } from './query-text.ts'

const PARTS: Readonly<Record<string, string>> = {
  body: 'the body',
  querystring: 'the query',
  params: 'the path',
  headers: 'the headers',
}

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const validator = Compile(schema)
  const what = PARTS[httpPart]

  const accepted = (value: unknown): true | { error: Error } =>
    validator.Check(value) ? true : { error: inputError(schema, value, what) }

  if (httpPart === 'body') return accepted
  if (httpPart === 'headers') return (headers: Readonly<Record<string, unknown>>) => accepted(pick(headers, schema as TObject))
  return (text: unknown) => {
    if (text === UNREADABLE_QUERY) return { error: new ServerError('ERR_INPUT', NOT_ENCODED) }
    const value = withNumbers(text as Readonly<Record<string, unknown>>, schema as TObject)
    const answer = accepted(value)
    return answer === true ? { value } : answer
  }
}

const NOT_ENCODED = 'the query: every character beyond ASCII, and %, has to be written as %XX for each byte of its UTF-8'

/** Numbers as paths and queries write them: digits without leading zeros, and nothing that has to be interpreted. */
const DIGITS = /^(?:0|-?[1-9]\d{0,15})$/

/** A path or query is text. Whole numbers are read from it where the schema wants them; anything else stays text, and is refused as such. */
function withNumbers(text: Readonly<Record<string, unknown>>, { properties }: TObject): Record<string, unknown> {
  const read = ([name, value]: [string, unknown]): [string, unknown] => {
    const isNumber = typeof value === 'string' && DIGITS.test(value) && wantsNumber(properties[name])
    return [name, isNumber ? Number(value) : value]
  }
  return Object.fromEntries(Object.entries(text).map(read))
}

function wantsNumber(schema: (TSchema & { type?: string; enum?: readonly unknown[] }) | undefined): boolean {
  return schema?.type === 'integer' || schema?.enum?.some((choice) => typeof choice === 'number') === true
}

/** ERR_INPUT, with all that is wrong. */
export function inputError(schema: TSchema, value: unknown, what: string): ServerError {
  try {
    refuse(what, problemsIn(schema, value))
  } catch (error) {
    return error as ServerError
  }
  return new ServerError('ERR_INPUT', `${what} is not of the form that is expected`)
}

/** Of all headers, those that the schema names. */
function pick(headers: Readonly<Record<string, unknown>>, { properties }: TObject): Record<string, unknown> {
  const names = Object.keys(properties).filter((name) => headers[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, headers[name]]))
}
