// Writes a check as JSON.
// Invariant: a check that passes here is valid for the service, because one invalid check would fail its whole batch.

import { refuse } from './client-options.ts'
import { LIMITS } from './contract/constants.ts'

/** The counters of one client and one route. */
export interface Counter {
  /** The client to count: 1 to 256 characters. */
  readonly clientId: string
  /** The route that is requested: 1 to 2,048 characters. */
  readonly route: string
  /** Further facts about the request, for policies with conditions: up to 16 texts of up to 256 characters, by name. */
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

/** A name of an attribute. `client` and `route` are no attributes. */
const ATTRIBUTE = /^(?!(?:client|route)$)[a-z][a-z0-9_.-]{0,63}$/

/** Throws ERR_OPTION. */
export function checkJson({ clientId, route, attributes, cost = 1 }: CheckRequest): string {
  holdCounter({ clientId, route, attributes })
  holdUnits('cost', cost)
  const facts = attributes === undefined ? '' : `,"attributes":${JSON.stringify(attributes)}`
  const spent = cost === 1 ? '' : `,"cost":${cost}`
  return `{"client_id":${JSON.stringify(clientId)},"route":${JSON.stringify(route)}${facts}${spent}}`
}

/** Throws ERR_OPTION. */
export function holdCounter({ clientId, route, attributes }: Counter): void {
  holdText('clientId', clientId, 1, LIMITS.longestClientId)
  holdText('route', route, 1, LIMITS.longestRoute)
  if (attributes !== undefined) holdAttributes(attributes)
}

function holdAttributes(attributes: Attributes): void {
  if (typeof attributes !== 'object' || attributes === null) refuse('attributes must be an object of texts')
  const entries = Object.entries(attributes)
  if (entries.length > LIMITS.mostAttributes) {
    refuse(`attributes has ${entries.length} texts, and ${LIMITS.mostAttributes} are the maximum`)
  }
  for (const [name, text] of entries) {
    if (!ATTRIBUTE.test(name))
      refuse(`attributes has the name ${JSON.stringify(name)}: use a-z, 0-9, _ . and -, beginning with a letter`)
    holdText(`attributes.${name}`, text, 0, LIMITS.longestValue)
  }
}

function holdUnits(name: string, units: number): void {
  if (!Number.isSafeInteger(units) || units < 1) {
    refuse(`${name} must be a whole number of at least 1, got ${String(units)}`)
  }
}

function holdText(name: string, value: unknown, least: number, most: number): void {
  if (typeof value !== 'string') refuse(`${name} must be text, got ${typeof value}`)
  if (value.length < least || value.length > most) refuse(`${name} must have ${least} to ${most} characters, got ${value.length}`)
  if (HALF.test(value)) refuse(`${name} has half a character: \\ud800 to \\udfff`)
}
