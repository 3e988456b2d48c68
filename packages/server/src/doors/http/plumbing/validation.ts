// Validates requests against the schemas of a route: a compiled check for valid input, and readable messages for invalid input.

import type { FastifySchemaCompiler } from 'fastify'
import type { TObject, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { ServerError } from '../../../errors.ts'
import { problemsIn, refuse } from '../../../input/check-input.ts'
import { UNREADABLE_QUERY } from './query-text.ts'

/** Words for the inputs of a route, by the name that Fastify gives them. */
const INPUTS: Readonly<Record<string, string>> = {
  body: 'the body',
  querystring: 'the query',
  params: 'the path',
  headers: 'the headers',
}

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'body' }) => {
  const validator = Compile(schema)
  const what = INPUTS[httpPart]

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

const NOT_ENCODED = 'the query: write every character beyond ASCII, and every %, as %XX for each byte of its UTF-8'

/** Canonical decimal numbers only: no leading zeros, no exponents. */
const DIGITS = /^(?:0|-?[1-9]\d{0,15})$/

/** Converts text to whole numbers where the schema wants numbers. Other text stays text, and validation refuses it. */
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

/** Returns ERR_INPUT with all problems. */
export function inputError(schema: TSchema, value: unknown, what: string): ServerError {
  try {
    refuse(what, problemsIn(schema, value))
  } catch (error) {
    return error as ServerError
  }
  return new ServerError('ERR_INPUT', `${what} does not have the expected form`)
}

/** Returns only the headers that the schema names. */
function pick(headers: Readonly<Record<string, unknown>>, { properties }: TObject): Record<string, unknown> {
  const names = Object.keys(properties).filter((name) => headers[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, headers[name]]))
}
