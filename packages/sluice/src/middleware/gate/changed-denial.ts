// Applies the result of `onDenied` to the response of a denied request.

import { SluiceError, show } from '../../core/errors.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import type { Denial } from '../../http/responder.ts'

/** Statuses whose responses have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304]

/**
 * Returns the denial with the parts that `onDenied` returned. Throws ERR_OPTION if a part cannot be sent. A framework's own response
 * object is refused too: its body is not a string.
 */
export function changedDenial(door: string, denial: Denial, change: Partial<Denial>): Denial {
  const { status = denial.status, body = denial.body, headers = {} } = change
  const demand = (part: keyof Denial, isRight: boolean, expected: string): void => {
    if (isRight) return
    const message = `onDenied of ${door} needs ${part} to be ${expected}, got ${show(change[part])}`
    throw new SluiceError('ERR_OPTION', message, { option: 'onDenied', value: change })
  }
  demand('status', isWhole(status, 200, 599), 'a whole number from 200 to 599')
  demand('body', typeof body === 'string', 'a string')
  // Headers, Map and lists are iterable, and would be taken for empty objects.
  demand('headers', typeof headers === 'object' && headers !== null && !(Symbol.iterator in headers), 'an object of strings')
  const changed = { ...denial.headers, ...headers }
  if (!WITHOUT_BODY.includes(status)) return { status, headers: changed, body }
  delete changed['Content-Type']
  return { status, headers: changed, body: '' }
}
