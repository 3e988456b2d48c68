// Writes the contract of the HTTP API as TypeScript that needs no schema library: for the client and the pages.

/**
 * The parts of a JSON schema that the contract uses.
 * @typedef {{
 *   $ref?: string, type?: string, enum?: readonly unknown[], const?: unknown, anyOf?: readonly Schema[], items?: Schema,
 *   properties?: Readonly<Record<string, Schema>>, required?: readonly string[], additionalProperties?: boolean | Schema,
 *   description?: string, 'x-events'?: Readonly<Record<string, Schema>>,
 * }} Schema
 */

/** @typedef {{ schema: Schema }} Media */

/**
 * @typedef {{
 *   operationId: string, summary: string, requestBody?: { content: Readonly<Record<string, Media>> },
 *   parameters?: readonly { name: string, in: string, required?: boolean, description?: string, schema: Schema }[],
 *   responses: Readonly<Record<string, { content?: Readonly<Record<string, Media>> }>>,
 * }} Operation
 */

/**
 * @typedef {{
 *   paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>,
 *   components: { schemas: Readonly<Record<string, Schema>> },
 * }} Document
 */

const HEAD = `// Made by packages/server/scripts/write-client-contract.mjs from the contract of the service. Change that, then run npm run derive.
`

/**
 * @param {{
 *   document: Document,
 *   limits: Readonly<Record<string, number>>,
 *   patterns: Readonly<Record<string, string>>,
 *   codes: Readonly<Record<string, { readonly status: number, readonly meaning: string }>>,
 * }} contract
 * @returns {Record<string, string>} sources by file name
 */
export function clientContract({ document, limits, patterns, codes }) {
  return {
    'shapes.ts': shapes(document),
    'operations.ts': operations(document),
    'constants.ts': constants(limits, patterns, codes),
  }
}

/** @param {Document} document */
function shapes({ components }) {
  // Types instead of interfaces: a rule is a record of options for programs that do not know each algorithm.
  const written = Object.entries(components.schemas).map(([name, schema]) => {
    const says = comment(schema.description, '')
    return `${says}export type ${name} = ${typeOf(schema, '')}`
  })
  return `${HEAD}// Shapes of requests and answers, as JSON has them.\n\n${written.join('\n\n')}\n`
}

/** @param {Document} document */
function operations({ paths, components }) {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const routes = all.map(({ path, method, operation }) => `  ${operation.operationId}: ['${method}', '${path}'],`)
  const types = all.map(({ operation }) => {
    const { operationId, summary, parameters = [], requestBody } = operation
    const parts = ['path', 'query', 'header']
      .map((kind) => ({ kind, of: parameters.filter((parameter) => parameter.in === kind) }))
      .filter(({ of }) => of.length > 0)
      .map(({ kind, of }) => `    readonly ${kind}: ${bodyOf(fromParameters(of), '    ')}`)
    if (requestBody !== undefined) parts.push(`    readonly body: ${typeOf(jsonOf(requestBody.content) ?? {}, '    ')}`)
    parts.push(`    readonly data: ${dataOf(operation)}`)
    return `${comment(summary, '  ')}  readonly ${operationId}: {\n${parts.join('\n')}\n  }`
  })
  const types_ = types.join('\n')
  const used = Object.keys(components.schemas).filter((name) => new RegExp(`\\b${name}\\b(?!:|\\?)`).test(types_))
  return `${HEAD}// Operations by their id: where they are, what they take, and the \`data\` of their answers.

import type {
${used.map((name) => `  ${name},`).join('\n')}
} from './shapes.ts'

/** Method and path of each operation. */
export const ROUTES = {
${routes.join('\n')}
} as const

export type OperationId = keyof typeof ROUTES

export interface Operations {
${types_}
}
`
}

/** @param {Operation} operation */
function dataOf({ responses }) {
  const answers = Object.entries(responses).filter(([status]) => Number(status) < 300)
  const data = answers.map(([, { content = {} }]) => {
    const schema = jsonOf(content)
    return schema?.properties?.data === undefined ? 'unknown' : typeOf(schema.properties.data, '    ')
  })
  return [...new Set(data)].join(' | ')
}

/** @param {Readonly<Record<string, Media>>} content */
function jsonOf(content) {
  return content['application/json']?.schema
}

/**
 * @param {NonNullable<Operation['parameters']>} parameters
 * @returns {Schema}
 */
function fromParameters(parameters) {
  const properties = parameters.map(({ name, schema, description = schema.description }) => [
    name,
    { ...schema, ...(description !== undefined && { description }) },
  ])
  const required = parameters.filter((parameter) => parameter.required === true).map(({ name }) => name)
  return { type: 'object', properties: Object.fromEntries(properties), required }
}

/**
 * @param {Schema} schema
 * @param {string} indent of the line that the type begins in
 * @returns {string}
 */
function typeOf(schema, indent) {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1) ?? ''
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
  if ('const' in schema) return literal(schema.const)
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((one) => typeOf(one, indent)))].join(' | ')
  switch (schema.type) {
    case 'array': {
      const items = typeOf(schema.items ?? {}, indent)
      return `readonly ${items.includes(' | ') && !items.startsWith('{') ? `(${items})` : items}[]`
    }
    case 'object':
      return objectOf(schema, indent)
    case 'integer':
      return 'number'
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return schema.type
    default:
      return 'unknown'
  }
}

/**
 * @param {Schema} schema
 * @param {string} indent
 */
function objectOf(schema, indent) {
  const { properties = {}, additionalProperties } = schema
  if (Object.keys(properties).length > 0) return bodyOf(schema, indent)
  const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown'
  return `Readonly<Record<string, ${values}>>`
}

/**
 * @param {Schema} schema
 * @param {string} indent
 */
function bodyOf({ properties = {}, required = [] }, indent) {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, schema]) => {
    const key = /^[a-z_]\w*$/i.test(name) ? name : `'${name}'`
    const type = typeOf(schema, inner)
    const field = required.includes(name) ? `${key}: ${type}` : `${key}?: ${type} | undefined`
    return `${comment(schema.description, inner)}${inner}readonly ${field}`
  })
  return `{\n${fields.join('\n')}\n${indent}}`
}

/** @param {unknown} value */
function literal(value) {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

/**
 * @param {string | undefined} text
 * @param {string} indent
 */
function comment(text, indent) {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`
}

/**
 * @param {Readonly<Record<string, number>>} limits
 * @param {Readonly<Record<string, string>>} patterns
 * @param {Readonly<Record<string, { readonly status: number, readonly meaning: string }>>} codes
 */
function constants(limits, patterns, codes) {
  const written = Object.entries(limits).map(([name, value]) => `  ${name}: ${grouped(value)},`)
  const expressions = Object.entries(patterns).map(
    ([name, pattern]) => `  ${name}: ${literal(pattern.replaceAll('\\', '\\\\'))},`,
  )
  const union = Object.entries(codes).map(([code, { meaning }]) => `  /** ${meaning} */\n  | '${code}'`)
  return `${HEAD}// Limits, patterns and error codes.

/** Limits of requests and lists, in the unit that a name ends in, or in characters. */
export const LIMITS = {
${written.join('\n')}
} as const

/** Regular expressions of texts that the service checks. */
export const PATTERNS = {
${expressions.join('\n')}
} as const

/** Codes of errors that the service answers with. */
export type ServiceErrorCode =
${union.join('\n')}
`
}

/** @param {number} value */
function grouped(value) {
  return value < 10_000 ? String(value) : String(value).replace(/\B(?=(\d{3})+$)/g, '_')
}
