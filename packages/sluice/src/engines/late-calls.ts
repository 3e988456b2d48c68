// Calls whose asker has left at the deadline. Such a call is dropped as long as it is not counted. So is a call that would overtake an
// earlier one on its key: it was made after the store had refused the other, and before the other's asker knew.

import type { SluiceError } from '../core/errors.ts'
import type { Asker } from '../core/store.ts'
import { storeError } from './store-errors.ts'

/** True if the asker has another result already, so that its call must not count any more. */
export function isLate(asker: Asker | undefined): boolean {
  return asker?.hasLeft === true
}

/** Notes that the call will be dropped if its asker leaves now. */
export function markUncounted(asker: Asker | undefined): void {
  if (asker !== undefined) asker.isUncounted = true
}

/** Notes that the call may count from now on. */
export function markMayCount(asker: Asker | undefined): void {
  if (asker !== undefined) asker.isUncounted = false
}

/** Makes the error of a call that is dropped because its asker has left. */
export function lateError(): SluiceError {
  return storeError('refused', 'the deadline passed while the call waited; it was dropped')
}

/** Returns the error of a call that must not be sent; undefined if it may be sent. */
export function whyNotSent(asker: Asker | undefined): SluiceError | undefined {
  if (isLate(asker)) return lateError()
  return asker?.isBehind === true
    ? storeError('refused', 'an earlier call on the same key was refused, and goes first')
    : undefined
}
