// Calls whose asker has left at the deadline. Such a call is dropped as long as it is not counted.

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
