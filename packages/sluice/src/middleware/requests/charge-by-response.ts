// Charges that depend on the response. The units of a request are spent when it comes, and given back if its response is free.

import { mustBe } from '../../core/errors.ts'
import type { ChargeByResponse } from '../gate/by-request.ts'
import { refund } from './refund.ts'

/** Condition for charging a request, by its response. */
export type ChargeWhen<R> = 'failed-response' | 'successful-response' | ((status: number, request: R) => boolean)

/** The lowest status of a failure. */
const FIRST_FAILURE = 400

/**
 * Charges only requests with such a response: `charge: chargeByResponse('failed-response')`. Until its response, every request counts.
 * The compiler does not know the framework here: name the type of `request` to have it checked.
 */
// biome-ignore lint/suspicious/noExplicitAny: without a named type, the callback takes the request of any framework.
export function chargeByResponse<R = any>(when: ChargeWhen<R>): ChargeByResponse<R> {
  if (when !== 'failed-response' && when !== 'successful-response' && typeof when !== 'function') {
    throw mustBe('ERR_OPTION', 'charge', "'failed-response', 'successful-response' or a function", when)
  }
  let mayWarn = true
  const isCharged = (status: number, request: R): boolean =>
    typeof when === 'function' ? when(status, request) : (when === 'failed-response') === status >= FIRST_FAILURE
  return {
    settle: (charged, status, { door, warn }) => {
      try {
        if (!isCharged(status, charged.request)) refund(charged)
      } catch (error) {
        // The response has been sent, so no caller can handle the error. The charge stays.
        if (mayWarn) warn({ code: 'WARN_CHARGE_FAILED', message: `charge of ${door} threw ${error}: the charge stays` })
        mayWarn = false
      }
    },
  }
}
