// Writes a check as JSON.
// Invariant: a check that passes here is valid for the service, because one invalid check would fail its whole batch.

import { refuse } from './client-options.ts'
import { LIMITS } from './contract/constants.ts'

/** A counter: one client and one route. */
export interface Counter {
  /** The client to count: 1 to 256 characters. */
  readonly clientId: string
  /** The route that is requested: 1 to 2,048 characters. */
  readonly route: string
}

export interface CheckRequest extends Counter {
  /** Units to spend: a whole number. Default: 1. */
  readonly cost?: number
}

/** A lone surrogate. In UTF-8 all of them become the same character, so two clients would be counted as one. */
const HALF = /\p{Surrogate}/u

/** Throws ERR_OPTION. */
export function checkJson({ clientId, route, cost = 1 }: CheckRequest): string {
  holdCounter(clientId, route)
  holdUnits('cost', cost)
  const spent = cost === 1 ? '' : `,"cost":${cost}`
  return `{"client_id":${JSON.stringify(clientId)},"route":${JSON.stringify(route)}${spent}}`
}

/** Throws ERR_OPTION. */
export function holdCounter(clientId: unknown, route: unknown): void {
  holdText('clientId', clientId, LIMITS.longestClientId)
  holdText('route', route, LIMITS.longestRoute)
}

function holdUnits(name: string, units: number): void {
  if (!Number.isSafeInteger(units) || units < 1) {
    refuse(`${name} must be a whole number of at least 1, got ${String(units)}`)
  }
}

function holdText(name: string, value: unknown, most: number): void {
  if (typeof value !== 'string') refuse(`${name} must be text, got ${typeof value}`)
  if (value === '' || value.length > most) refuse(`${name} must have 1 to ${most} characters, got ${value.length}`)
  if (HALF.test(value)) refuse(`${name} has half a character: \\ud800 to \\udfff`)
}
