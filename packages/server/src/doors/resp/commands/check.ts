// SLUICE.CHECK: decides by the policies of the service, as POST /v1/check does.

import { LIMITS } from '../../../contract/limits.ts'
import { Check } from '../../../contract/schemas.ts'
import { checkInput } from '../../../input/check-input.ts'
import { type Arguments, word } from '../protocol/arguments.ts'
import type { Session } from '../session.ts'
import { writeResult } from './check-reply.ts'
import type { Command } from './command.ts'
import { Words } from './words.ts'

const CLIENT = 1
const ROUTE = 2
const COST = 3

export const ATTR = word('ATTR')

export const check: Command = {
  name: 'SLUICE.CHECK',
  usage: 'client route [cost] [ATTR name value [ATTR name value ...]]',
  summary: 'Decides by the policies of the service, and spends.',
  arity: -3,
  needs: 'check',
  run(args, reply, { service, run }) {
    const result = service.decider.check(readCheck(args), run.startMs)
    if (result instanceof Promise) return result.then((decided) => (later) => writeResult(later, decided))
    writeResult(reply, result)
    return undefined
  },
}

function readCheck(args: Arguments): Parameters<Session['service']['decider']['check']>[0] {
  const clientId = args.text(CLIENT)
  const route = args.text(ROUTE)
  // The most frequent check has neither a cost nor attributes.
  if (args.count === COST && isShort(clientId, LIMITS.longestClientId) && isShort(route, LIMITS.longestRoute)) {
    return { clientId, route, cost: 1 }
  }
  const words = new Words(args, COST)
  const cost = words.isDone || args.is(COST, ATTR) ? 1 : words.number('cost')
  const attributes = readAttributes(words)
  if (!words.isDone) words.refuse('ATTR')
  const input = { client_id: clientId, route, cost, ...(attributes !== undefined && { attributes }) }
  checkInput(Check, input, 'the check')
  return { clientId, route, cost, attributes }
}

/** Reads `ATTR name value`, as often as it is there. */
export function readAttributes(words: Words): Record<string, string> | undefined {
  let attributes: Record<string, string> | undefined
  while (words.takes(ATTR)) {
    attributes ??= Object.create(null) as Record<string, string>
    const name = words.text('the name of an attribute')
    attributes[name] = words.text(`the value of the attribute ${name}`)
  }
  return attributes
}

function isShort({ length }: string, most: number): boolean {
  return length > 0 && length <= most
}
