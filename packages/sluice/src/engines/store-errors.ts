// Sorts the errors of a store into three kinds.

import { type ErrorCode, SluiceError, show } from '../core/errors.ts'

/**
 * - `refused`: the call was certainly not counted, and the same call may work in a moment.
 * - `unknown`: the call may have been counted. It is not repeated.
 * - `fatal`: the call cannot work as the store is set up. Repeating it does not help.
 */
export type StoreErrorKind = 'refused' | 'unknown' | 'fatal'

/** Sorts an error of a store's client. Returns undefined to leave it to the engine. */
export type SortError = (error: unknown) => StoreErrorKind | undefined

const KINDS: Readonly<Record<StoreErrorKind, readonly [code: ErrorCode, words: string]>> = {
  refused: ['ERR_STORE_REFUSED', 'the store refused, and counted nothing'],
  unknown: ['ERR_STORE_UNKNOWN', 'the store failed, and may have counted'],
  fatal: ['ERR_STORE_FATAL', 'the store cannot work as it is set up'],
}

/** Codes of errors that occur before anything is sent. */
const NOT_SENT: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

/**
 * Sorts by the codes of Node and of standard SQL, in `code` or `sqlState`. Failed connections and transactions that were rolled
 * back are `refused`. Missing rights, missing tables and bad statements are `fatal`.
 */
export const sortByCode: SortError = (error) => {
  const { code, sqlState } = (error ?? {}) as { readonly code?: unknown; readonly sqlState?: unknown }
  if (NOT_SENT.includes(code)) return 'refused'
  const state = [sqlState, code].find((text): text is string => typeof text === 'string' && /^[0-9A-Z]{5}$/.test(text))
  if (state === undefined) return undefined
  // 40003 and 08007 mean that the transaction may or may not have been committed.
  if (state === '40003' || state === '08007') return 'unknown'
  if (/^(?:40|08001|08004|53|55P03)/.test(state)) return 'refused'
  if (/^(?:0A|22|28|3D|3F|42)/.test(state)) return 'fatal'
  return undefined
}

/** Makes a SluiceError of an error. Its kind comes from `sort`, else from its code, else it is `otherwise`. */
export function sortedError(error: unknown, sort: SortError | undefined, otherwise: StoreErrorKind): SluiceError {
  if (error instanceof SluiceError) return error
  const [code, words] = KINDS[kindOf(error, sort) ?? sortByCode(error) ?? otherwise]
  return new SluiceError(code, `${words}: ${messageOf(error)}`, { cause: error })
}

/** Returns the text of an error. If a host has several addresses, Node's error has a code and no message. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === 'string' ? error : show(error)
  return error.message || String((error as { readonly code?: unknown }).code)
}

/** Returns the author's kind of an error. If the author's function throws or returns no kind, the error counts as not sorted. */
function kindOf(error: unknown, sort: SortError | undefined): StoreErrorKind | undefined {
  try {
    const kind = sort?.(error)
    return kind !== undefined && Object.hasOwn(KINDS, kind) ? kind : undefined
  } catch {
    return undefined
  }
}

/** Makes an error of the given kind. */
export function storeError(kind: StoreErrorKind, words: string): SluiceError {
  return new SluiceError(KINDS[kind][0], words)
}

/** Rejects calls for which a queue has no space. They were not sent. */
export function refuseAll(calls: readonly { reject(reason: SluiceError): void }[]): void {
  if (calls.length === 0) return
  const reason = storeError('refused', 'too many calls wait for the store already; this one was not sent')
  for (const call of calls) call.reject(reason)
}

/** False if the error says that the call was certainly not counted. */
export function mayHaveCounted(error: unknown): boolean {
  return !(error instanceof SluiceError) || error.code !== 'ERR_STORE_REFUSED'
}

/** Rejects as `unknown`: if one part of a store refuses, the others may have counted. */
export function rejectAsUnknown(error: unknown): never {
  if (!(error instanceof SluiceError) || error.code !== 'ERR_STORE_REFUSED') throw error
  throw new SluiceError('ERR_STORE_UNKNOWN', `only a part of the store may have counted: ${error.message}`, { cause: error })
}
