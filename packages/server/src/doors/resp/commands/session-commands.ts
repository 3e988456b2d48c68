// Commands about the connection itself, which clients of Redis send when they connect.

import { VERSION } from '../../../version.ts'
import { type Arguments, word } from '../protocol/arguments.ts'
import type { ReplyWriter } from '../protocol/reply-writer.ts'
import { RespError } from '../resp-error.ts'
import type { Session } from '../session.ts'
import type { Command } from './command.ts'

const SYNTAX = 'ERR syntax error'
const NOT_AN_INTEGER = 'ERR value is not an integer or out of range'

const AUTH = word('AUTH')
const SETNAME = word('SETNAME')

/** Characters that a name of a client may have, as in Redis. */
const NAME = /^[!-~]*$/

export const auth: Command = {
  name: 'AUTH',
  usage: '[username] key',
  summary: 'Uses an API key. The user name is ignored.',
  arity: -2,
  needs: 'anybody',
  run(args, reply, session) {
    if (args.count > 3) throw new RespError(SYNTAX)
    session.authenticate(args.latin1(args.count - 1))
    reply.simple('OK')
    return undefined
  },
}

export const hello: Command = {
  name: 'HELLO',
  usage: '[2|3 [AUTH username key] [SETNAME name]]',
  summary: 'Chooses the version of the protocol.',
  arity: -1,
  needs: 'anybody',
  run(args, reply, session) {
    const protocol = args.count > 1 ? args.number(1) : session.protocol
    if (Number.isNaN(protocol)) throw new RespError('ERR Protocol version is not an integer or out of range')
    if (protocol !== 2 && protocol !== 3) throw new RespError('NOPROTO unsupported protocol version')
    const { presented, name } = helloOptions(args)
    if (presented !== undefined) session.authenticate(presented)
    if (session.key === undefined) throw new RespError(HELLO_NOAUTH)
    if (name !== undefined) session.name = name
    session.protocol = protocol
    reply.protocol = protocol
    writeHello(reply, session)
    return undefined
  },
}

const HELLO_NOAUTH =
  'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time'

function helloOptions(args: Arguments): { readonly presented: string | undefined; readonly name: string | undefined } {
  let presented: string | undefined
  let name: string | undefined
  let at = 2
  while (at < args.count) {
    if (args.is(at, AUTH) && at + 2 < args.count) {
      presented = args.latin1(at + 2)
      at += 3
    } else if (args.is(at, SETNAME) && at + 1 < args.count) {
      name = checkedName(args, at + 1)
      at += 2
    } else throw new RespError(`ERR Syntax error in HELLO option '${args.latin1(at).slice(0, 128)}'`)
  }
  return { presented, name }
}

function writeHello(reply: ReplyWriter, { id, protocol }: Session): void {
  reply.map(7)
  reply.bulk('server')
  reply.bulk('sluice')
  reply.bulk('version')
  reply.bulk(VERSION)
  reply.bulk('proto')
  reply.integer(protocol)
  reply.bulk('id')
  reply.integer(id)
  reply.bulk('mode')
  reply.bulk('standalone')
  reply.bulk('role')
  reply.bulk('master')
  reply.bulk('modules')
  reply.array(0)
}

export const ping: Command = {
  name: 'PING',
  usage: '[message]',
  summary: 'Answers PONG, or the message.',
  arity: -1,
  needs: 'key',
  run(args, reply) {
    if (args.count > 2) throw new RespError("ERR wrong number of arguments for 'ping' command")
    if (args.count === 2) reply.bulk(args.copy(1))
    else reply.simple('PONG')
    return undefined
  },
}

export const echo: Command = {
  name: 'ECHO',
  usage: 'message',
  summary: 'Answers the message.',
  arity: 2,
  needs: 'key',
  run(args, reply) {
    reply.bulk(args.copy(1))
    return undefined
  },
}

export const quit: Command = {
  name: 'QUIT',
  usage: '',
  summary: 'Closes the connection.',
  arity: -1,
  needs: 'anybody',
  run(_args, reply, session) {
    session.isLeaving = true
    reply.simple('OK')
    return undefined
  },
}

export const reset: Command = {
  name: 'RESET',
  usage: '',
  summary: 'Forgets the key, the name and the version of the protocol.',
  arity: 1,
  needs: 'anybody',
  run(_args, reply, session) {
    session.reset()
    reply.protocol = session.protocol
    reply.simple('RESET')
    return undefined
  },
}

export const select: Command = {
  name: 'SELECT',
  usage: '0',
  summary: 'There is one database.',
  arity: 2,
  needs: 'key',
  run(args, reply) {
    const index = args.number(1)
    if (Number.isNaN(index)) throw new RespError(NOT_AN_INTEGER)
    if (index !== 0) throw new RespError('ERR DB index is out of range')
    reply.simple('OK')
    return undefined
  },
}

const GETNAME = word('GETNAME')
const ID = word('ID')
const SETINFO = word('SETINFO')

export const client: Command = {
  name: 'CLIENT',
  usage: 'SETNAME name | GETNAME | ID | SETINFO attribute value',
  summary: 'Names the connection.',
  arity: -2,
  needs: 'key',
  run(args, reply, session) {
    if (args.is(1, SETNAME) && args.count === 3) {
      session.name = checkedName(args, 2)
      reply.simple('OK')
    } else if (args.is(1, GETNAME) && args.count === 2) {
      if (session.name === '') reply.nothing()
      else reply.bulk(session.name)
    } else if (args.is(1, ID) && args.count === 2) reply.integer(session.id)
    else if (args.is(1, SETINFO) && args.count === 4) reply.simple('OK')
    else throw new RespError(`ERR unknown subcommand or wrong number of arguments for '${args.latin1(1).slice(0, 128)}'`)
    return undefined
  },
}

function checkedName(args: Arguments, index: number): string {
  const name = args.latin1(index)
  if (!NAME.test(name)) throw new RespError('ERR Client names cannot contain spaces, newlines or special characters.')
  return name
}
