// The contract in packages/client equals the contract of the service.

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { clientContract } from '../scripts/client-contract.mjs'
import { SERVER_ERROR_CODES } from '../src/contract/error-codes.ts'
import { LIMITS } from '../src/contract/limits.ts'
import { ATTRIBUTE_NAME, NAME } from '../src/policies/policy-schema.ts'

const FOLDER = new URL('../../client/src/contract/', import.meta.url)
const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
const patterns = { name: NAME, attributeName: ATTRIBUTE_NAME }
const written = clientContract({ document, limits: LIMITS, patterns, codes: SERVER_ERROR_CODES })

test.each(Object.entries(written))('%s is up to date (if not: npm run derive)', (file, source) => {
  expect(readFileSync(new URL(file, FOLDER), 'utf8')).toBe(source)
})

test('the folder has these files, and what is written by hand', () => {
  expect(readdirSync(FOLDER).sort()).toEqual([...Object.keys(written), 'address.ts', 'block-name.ts', 'index.ts'].sort())
})

test('every operation and every named shape is part of it', () => {
  for (const name of Object.keys(document.components.schemas)) {
    expect(written['shapes.ts']).toMatch(new RegExp(`^export type ${name} `, 'm'))
  }
  const ids = Object.values<Record<string, { operationId: string }>>(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  for (const id of ids) expect(written['operations.ts']).toContain(`  readonly ${id}: {`)
})

test('a schema that the writer does not know becomes unknown, never any', () => {
  const odd = { components: { schemas: { Odd: { not: {} } } }, paths: {} }
  const { 'shapes.ts': shapes } = clientContract({ document: odd as never, limits: {}, patterns: {}, codes: {} })
  expect(shapes).toContain('export type Odd = unknown')
  expect(Object.values(written).join()).not.toMatch(/\bany\b(?=[;\n[|])/)
})
