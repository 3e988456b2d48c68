// Writes the contract for the client from the built service and from openapi.json. A test fails when they differ.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { SERVER_ERROR_CODES } from '../dist/contract/error-codes.js'
import { LIMITS } from '../dist/contract/limits.js'
import { ATTRIBUTE_NAME, NAME } from '../dist/policies/policy-schema.js'
import { clientContract } from './client-contract.mjs'

const FOLDER = new URL('../../client/src/contract/', import.meta.url)

const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'))
mkdirSync(FOLDER, { recursive: true })
const patterns = { name: NAME, attributeName: ATTRIBUTE_NAME }
const contract = { document, limits: LIMITS, patterns, codes: SERVER_ERROR_CODES }
for (const [file, source] of Object.entries(clientContract(contract))) {
  writeFileSync(new URL(file, FOLDER), source)
}
