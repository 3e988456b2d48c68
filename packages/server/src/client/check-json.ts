// Writes a check as JSON.
// Invariant: a check that passes here is valid for the service, because one invalid check would fail its whole batch.

import { ClientError } from './client-error.ts'

export interface CheckRequest {
  /** The client to count: 1 to 256 characters. */
  readonly clientId: string
  /** The route that is requested: 1 to 2,048 characters. */
  readonly route: string
  /** Units to spend: a whole number. Default: 1. */
  readonly cost?: number
}

export const LONGEST_CLIENT_ID = 256
export const LONGEST_ROUTE = 2048

/** A lone surrogate. In UTF-8 all of them become the same character, so two clients would be counted as one. */
const HALF = /\p{Surrogate}/u

export function checkJson({ clientId, route, cost = 1 }: CheckRequest): string {
  holdText('clientId', clientId, LONGEST_CLIENT_ID)
  holdText('route', route, LONGEST_ROUTE)
  if (!Number.isSafeInteger(cost) || cost < 1) {
    throw new ClientError('ERR_OPTION', `cost must be a whole number of at least 1, got ${String(cost)}`)
  }
  const spent = cost === 1 ? '' : `,"cost":${cost}`
  return `{"client_id":${JSON.stringify(clientId)},"route":${JSON.stringify(route)}${spent}}`
}

export function holdText(name: string, value: unknown, most: number): void {
  if (typeof value !== 'string') throw new ClientError('ERR_OPTION', `${name} must be text, got ${typeof value}`)
  if (value === '' || value.length > most) {
    throw new ClientError('ERR_OPTION', `${name} must have 1 to ${most} characters, got ${value.length}`)
  }
  if (HALF.test(value)) throw new ClientError('ERR_OPTION', `${name} has half a character: \\ud800 to \\udfff`)
}
