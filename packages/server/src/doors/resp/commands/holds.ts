// SLUICE.RESERVE, SLUICE.SETTLE, SLUICE.CANCEL and SLUICE.EXTEND: holds, as POST /v1/reserve and its siblings make and end them.

import type { Duration } from 'sluice'
import { Cancel, Extend, Reserve, Settle } from '../../../contract/hold-schemas.ts'
import type { NamedHold } from '../../../decide/reservations.ts'
import { checkInput } from '../../../input/check-input.ts'
import type { ApiKey } from '../../../keys/key-ring.ts'
import type { Policy } from '../../../policies/policy.ts'
import { HoldTokens } from '../../hold-token.ts'
import { type Arguments, word } from '../protocol/arguments.ts'
import type { ReplyWriter } from '../protocol/reply-writer.ts'
import type { Session } from '../session.ts'
import { readAttributes } from './check.ts'
import { writeResult, writeText, writeTime, writeUnits } from './check-reply.ts'
import type { Command } from './command.ts'
import { type UnitsRead, Words } from './words.ts'

const OPTIONS = { hold: word('HOLD'), cost: word('COST'), at_least: word('ATLEAST') } as const
const UNITS = ['hold', 'cost', 'at_least'] as const
const TTL = word('TTL')
const EXPIRED = word('EXPIRED')
const USED = word('USED')

/** Fields of a reserve that is allowed: token, granted, expires_at. Fields of every end: client_id, route, policy. */
const HOLD_FIELDS = 3
const END_FIELDS = 3

export const reserve: Command = {
  name: 'SLUICE.RESERVE',
  usage:
    'client route [HOLD [RULE name] units ...] [COST [RULE name] units ...] [ATLEAST [RULE name] units ...] [TTL duration] [EXPIRED charge|release] [ATTR name value ...]',
  summary: 'Holds units until it is known what was used.',
  arity: -3,
  needs: 'check',
  async run(args, _reply, session) {
    const { service } = session
    const key = keyOf(session)
    const { client_id: clientId, at_least: atLeast, ttl, ...options } = readReserve(args)
    const named = { ...(atLeast !== undefined && { atLeast }), ...(ttl !== undefined && { ttl: ttl as Duration }) }
    const result = await service.decider.holds.reserve({ ...options, ...named, clientId })
    const { hold } = result
    const token = hold && new HoldTokens(service.keys).write(key, hold)
    return (reply) => {
      writeResult(reply, result, hold === undefined ? 0 : HOLD_FIELDS)
      if (hold === undefined || token === undefined) return
      writeText(reply, 'token', token)
      writeUnits(reply, 'granted', hold.granted)
      writeTime(reply, 'expires_at', hold.expiresAt)
    }
  },
}

export const settle: Command = {
  name: 'SLUICE.SETTLE',
  usage: 'token [USED [RULE name] units ...]',
  summary: 'Ends a hold and charges what was used.',
  arity: -2,
  needs: 'check',
  async run(args, _reply, session) {
    const words = new Words(args, 2)
    let units: UnitsRead
    while (words.takes(USED)) units = words.units(units, 'USED')
    if (!words.isDone) words.refuse('USED')
    const input = { token: args.text(1), ...(units !== undefined && { used: units }) }
    checkInput(Settle, input, 'the settle')
    const named = holdOf(session, input.token)
    const { policy, used } = await session.service.decider.holds.settle(named, input.used)
    return (reply) => {
      writeEnd(reply, named, policy, 1)
      writeUnits(reply, 'used', used)
    }
  },
}

export const cancel: Command = {
  name: 'SLUICE.CANCEL',
  usage: 'token',
  summary: 'Ends a hold and charges nothing.',
  arity: 2,
  needs: 'check',
  async run(args, _reply, session) {
    const input = { token: args.text(1) }
    checkInput(Cancel, input, 'the cancel')
    const named = holdOf(session, input.token)
    const policy = await session.service.decider.holds.cancel(named)
    return (reply) => writeEnd(reply, named, policy)
  },
}

export const extend: Command = {
  name: 'SLUICE.EXTEND',
  usage: 'token ttl',
  summary: 'Lets a hold expire later.',
  arity: 3,
  needs: 'check',
  async run(args, _reply, session) {
    const input = { token: args.text(1), ttl: duration(args.text(2)) }
    checkInput(Extend, input, 'the extend')
    const named = holdOf(session, input.token)
    const { policy, expiresAt } = await session.service.decider.holds.extend(named, input.ttl as Duration)
    return (reply) => {
      writeEnd(reply, named, policy, 1)
      writeTime(reply, 'expires_at', expiresAt)
    }
  },
}

function readReserve(args: Arguments) {
  const words = new Words(args, 3)
  const input: Record<string, unknown> = { client_id: args.text(1), route: args.text(2) }
  while (!words.isDone) {
    const option = UNITS.find((name) => words.takes(OPTIONS[name]))
    if (option !== undefined) input[option] = words.units(input[option] as UnitsRead, option)
    else if (words.takes(TTL)) input.ttl = duration(words.text('TTL'))
    else if (words.takes(EXPIRED)) input.expired = words.text('EXPIRED')
    else {
      const attributes = readAttributes(words)
      if (attributes === undefined) words.refuse('HOLD, COST, ATLEAST, TTL, EXPIRED or ATTR')
      input.attributes = Object.assign(input.attributes ?? Object.create(null), attributes)
    }
  }
  checkInput(Reserve, input, 'the reserve')
  return input
}

/** A duration is whole milliseconds, or text such as `2m`. */
function duration(text: string): string | number {
  return /^\d{1,15}$/.test(text) ? Number(text) : text
}

/** Throws ERR_HOLD_TOKEN unless the token belongs to the key of the session. */
function holdOf(session: Session, token: string): NamedHold {
  return new HoldTokens(session.service.keys).read(keyOf(session), token)
}

/** The key exists: a command that needs the scope `check` does not run without one. */
function keyOf({ key }: Session): ApiKey {
  return key as ApiKey
}

function writeEnd(reply: ReplyWriter, { clientId, route }: NamedHold, { name }: Policy, more = 0): void {
  reply.map(END_FIELDS + more)
  writeText(reply, 'client_id', clientId)
  writeText(reply, 'route', route)
  writeText(reply, 'policy', name)
}
