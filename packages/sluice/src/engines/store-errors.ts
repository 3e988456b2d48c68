// Errors of a store, sorted: certainly not counted, perhaps counted, or never going to work.

import { type ErrorCode, SluiceError, show } from '../core/errors.ts'

/**
 * - `refused`: certainly nothing was counted, and the same call may work in a moment.
 * - `unknown`: it may have counted. It is not asked again.
 * - `fatal`: trying again cannot help.
 */
export type StoreErrorKind = 'refused' | 'unknown' | 'fatal'

/** Sorts an error of a store's client. Undefined: the engine's own sorting holds. */
export type SortError = (error: unknown) => StoreErrorKind | undefined

const KINDS: Readonly<Record<StoreErrorKind, readonly [code: ErrorCode, words: string]>> = {
  refused: ['ERR_STORE_REFUSED', 'the store refused, and counted nothing'],
  unknown: ['ERR_STORE_UNKNOWN', 'the store failed, and may have counted'],
  fatal: ['ERR_STORE_FATAL', 'the store cannot work as it is set up'],
}

/** Codes of errors that come before anything was sent. */
const NOT_SENT: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

/**
 * Sorts by the codes of Node and of standard SQL, in `code` or `sqlState`: connections that were not made and transactions that
 * were rolled back are refused; missing rights, missing tables and bad statements are fatal.
 */
export const sortByCode: SortError = (error) => {
  const { code, sqlState } = (error ?? {}) as { readonly code?: unknown; readonly sqlState?: unknown }
  if (NOT_SENT.includes(code)) return 'refused'
  const state = [sqlState, code].find((text): text is string => typeof text === 'string' && /^[0-9A-Z]{5}$/.test(text))
  if (state === undefined) return undefined
  // 40003 and 08007 say that it is not known if the transaction was committed.
  if (state === '40003' || state === '08007') return 'unknown'
  if (/^(?:40|08001|08004|53|55P03)/.test(state)) return 'refused'
  if (/^(?:0A|22|28|3D|3F|42)/.test(state)) return 'fatal'
  return undefined
}

/** The error as one of Sluice: by `sort`, then by its code, else as `otherwise`. */
export function sortedError(error: unknown, sort: SortError | undefined, otherwise: StoreErrorKind): SluiceError {
  if (error instanceof SluiceError) return error
  const [code, words] = KINDS[kindOf(error, sort) ?? sortByCode(error) ?? otherwise]
  return new SluiceError(code, `${words}: ${error instanceof Error ? error.message : show(error)}`, { cause: error })
}

/** The author's sorting. One that throws, as on an error without a code, or that names no kind, has not sorted: calls wait for an end. */
function kindOf(error: unknown, sort: SortError | undefined): StoreErrorKind | undefined {
  try {
    const kind = sort?.(error)
    return kind !== undefined && Object.hasOwn(KINDS, kind) ? kind : undefined
  } catch {
    return undefined
  }
}

/** An error of the given kind, in words of ours. */
export function storeError(kind: StoreErrorKind, words: string): SluiceError {
  return new SluiceError(KINDS[kind][0], words)
}

/** Refuses calls for which a queue has no space: they were not sent. */
export function refuseAll(calls: readonly { reject(reason: SluiceError): void }[]): void {
  if (calls.length === 0) return
  const reason = storeError('refused', 'too many calls wait for the store already; this one was not sent')
  for (const call of calls) call.reject(reason)
}
