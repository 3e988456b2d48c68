// A check as the service reads it.
// Invariant: a check that passes here is accepted there, because one bad check would have its whole batch refused.

import { ClientError } from './client-error.ts'

export interface CheckRequest {
  /** Whom to count: 1 to 256 characters. */
  readonly clientId: string
  /** What is asked for: 1 to 2,048 characters. */
  readonly route: string
  /** How many units to spend: a whole number, 1 by default. */
  readonly cost?: number
}

export const LONGEST_CLIENT_ID = 256
export const LONGEST_ROUTE = 2048

/** Half a character without its other half: in UTF-8 all of them are the same sign, and two clients would be counted as one. */
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

function holdText(name: string, value: unknown, most: number): void {
  if (typeof value !== 'string') throw new ClientError('ERR_OPTION', `${name} must be text, got ${typeof value}`)
  if (value === '' || value.length > most) {
    throw new ClientError('ERR_OPTION', `${name} must have 1 to ${most} characters, got ${value.length}`)
  }
  if (HALF.test(value)) throw new ClientError('ERR_OPTION', `${name} has half a character: \\ud800 to \\udfff`)
}
