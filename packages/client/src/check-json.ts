// Writes a check as JSON.
// Invariant: a check that passes here is valid for the service, because one invalid check would fail its whole batch.

import { refuse } from './client-options.ts'
import { LIMITS, PATTERNS } from './contract/constants.ts'

/** The counters of one client and one route. */
export interface Counter {
  /** The client to count: 1 to 256 characters. */
  readonly clientId: string
  /** The route that is requested: 1 to 2,048 characters. */
  readonly route: string
  /** Facts about the request, for policies with `where` and rules with `per`: at most 16 texts of up to 256 characters, by name. */
  readonly attributes?: Attributes | undefined
}

/** Texts by name, such as `{ plan: 'free', org: 'acme' }`. */
export type Attributes = Readonly<Record<string, string>>

export interface CheckRequest extends Counter {
  /** Units to spend: a whole number. Default: 1. */
  readonly cost?: number
}

/** A lone surrogate. In UTF-8 all of them become the same character, so two clients would be counted as one. */
const HALF = /\p{Surrogate}/u

const ATTRIBUTE_NAME = new RegExp(PATTERNS.attributeName, 'u')

/** Throws ERR_OPTION. */
export function checkJson(check: CheckRequest): string {
  holdCounter(check)
  const { clientId, route, attributes, cost = 1 } = check
  holdUnits('cost', cost)
  const known = attributes === undefined ? '' : `,"attributes":${JSON.stringify(attributes)}`
  const spent = cost === 1 ? '' : `,"cost":${cost}`
  return `{"client_id":${JSON.stringify(clientId)},"route":${JSON.stringify(route)}${known}${spent}}`
}

/** Throws ERR_OPTION. */
export function holdCounter({ clientId, route, attributes }: Counter): void {
  holdText('clientId', clientId, LIMITS.longestClientId)
  holdText('route', route, LIMITS.longestRoute)
  if (attributes !== undefined) holdAttributes(attributes)
}

function holdAttributes(attributes: Attributes): void {
  // An object that writes itself, such as a Date, would be sent as something else.
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes) || 'toJSON' in attributes) {
    refuse('attributes must be an object of texts by name')
  }
  const entries = Object.entries(attributes)
  if (entries.length > LIMITS.mostAttributes) {
    refuse(`attributes must be at most ${LIMITS.mostAttributes}, got ${entries.length}`)
  }
  for (const [name, value] of entries) {
    if (!ATTRIBUTE_NAME.test(name)) refuse(`attributes has the name ${JSON.stringify(name)}, which attributes cannot have`)
    const place = `attributes.${name}`
    if (typeof value !== 'string') refuse(`${place} must be text, got ${typeof value}`)
    if (value.length > LIMITS.longestValue) {
      refuse(`${place} must have at most ${LIMITS.longestValue} characters, got ${value.length}`)
    }
    holdWhole(place, value)
  }
}

function holdUnits(name: string, units: number): void {
  if (!Number.isSafeInteger(units) || units < 1) {
    refuse(`${name} must be a whole number of at least 1, got ${String(units)}`)
  }
}

function holdText(name: string, value: unknown, most: number): void {
  if (typeof value !== 'string') refuse(`${name} must be text, got ${typeof value}`)
  if (value === '' || value.length > most) refuse(`${name} must have 1 to ${most} characters, got ${value.length}`)
  holdWhole(name, value)
}

function holdWhole(name: string, value: string): void {
  if (HALF.test(value)) refuse(`${name} has half a character: \\ud800 to \\udfff`)
}
