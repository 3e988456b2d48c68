// Applies the result of `onDenied` to the response of a denied request.

import { SluiceError, show } from '../../core/errors.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import type { Denial } from '../../http/responder.ts'

/** Parts of the response to a denied request. They replace those of the denial. */
export interface DenialChange {
  readonly status?: number
  /** Fields to add or to replace. A field that is `undefined` is removed. Names are compared without regard to case. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string
}

/** Statuses whose responses have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304]

/**
 * Returns the denial with the parts that `onDenied` returned. Throws ERR_OPTION if a part cannot be sent. A framework's own response
 * object is refused too: its body is not a string.
 */
export function changedDenial(door: string, denial: Denial, change: DenialChange): Denial {
  const { status = denial.status, body = denial.body, headers = {} } = change
  const demand = (isRight: boolean, part: string, value: unknown, expected: string): void => {
    if (isRight) return
    const message = `onDenied of ${door} needs ${part} to be ${expected}, got ${show(value)}`
    throw new SluiceError('ERR_OPTION', message, { option: 'onDenied', value: change })
  }
  demand(isWhole(status, 200, 599), 'status', status, 'a whole number from 200 to 599')
  demand(typeof body === 'string', 'body', body, 'a string')
  // Headers, Map and lists are iterable, and would be taken for empty objects.
  const isPlain = typeof headers === 'object' && headers !== null && !(Symbol.iterator in headers)
  demand(isPlain, 'headers', headers, 'an object of strings')
  /** Fields by their names in lower case. */
  const fields = new Map<string, readonly [name: string, value: string]>()
  for (const [name, value] of [...Object.entries(denial.headers), ...Object.entries(headers)]) {
    const id = name.toLowerCase()
    if (value === undefined) fields.delete(id)
    else {
      demand(typeof value === 'string', `the header ${show(name)}`, value, 'a string or undefined')
      fields.set(id, [name, value])
    }
  }
  const isWithoutBody = WITHOUT_BODY.includes(status)
  if (isWithoutBody) fields.delete('content-type')
  return { status, headers: Object.fromEntries(fields.values()), body: isWithoutBody ? '' : body }
}
