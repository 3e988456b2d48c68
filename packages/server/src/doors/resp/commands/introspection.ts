// COMMAND and INFO: descriptions that tools and clients of Redis ask for.

import { VERSION } from '../../../version.ts'
import { type Arguments, word } from '../protocol/arguments.ts'
import type { ReplyWriter } from '../protocol/reply-writer.ts'
import { RespError } from '../resp-error.ts'
import type { Command } from './command.ts'

const COUNT = word('COUNT')
const DOCS = word('DOCS')
const INFO = word('INFO')
const LIST = word('LIST')

/** Makes the command COMMAND over all commands, itself included. */
export function commandCommand(all: () => readonly Command[]): Command {
  return {
    name: 'COMMAND',
    usage: '[COUNT | LIST | DOCS [name ...] | INFO [name ...]]',
    summary: 'Describes the commands.',
    arity: -1,
    needs: 'key',
    run(args, reply) {
      const commands = all()
      if (args.count === 1) writeInfos(reply, commands)
      else if (args.is(1, COUNT)) reply.integer(commands.length)
      else if (args.is(1, LIST)) {
        reply.array(commands.length)
        for (const { name } of commands) reply.bulk(name.toLowerCase())
      } else if (args.is(1, INFO)) writeInfos(reply, named(commands, args) ?? commands)
      else if (args.is(1, DOCS))
        writeDocs(
          reply,
          (named(commands, args) ?? commands).filter((command) => command !== undefined),
        )
      else throw new RespError(`ERR unknown subcommand '${args.latin1(1).slice(0, 128)}'. Try COMMAND HELP.`)
      return undefined
    },
  }
}

export const info: Command = {
  name: 'INFO',
  usage: '[section ...]',
  summary: 'Describes the server, in the form of Redis.',
  arity: -1,
  needs: 'key',
  run(_args, reply, { service: { status } }) {
    const loading = status.state === 'starting' ? 1 : 0
    const lines = ['# Server', `sluice_version:${VERSION}`, 'redis_mode:standalone', '# Persistence', `loading:${loading}`]
    reply.bulk(lines.map((line) => `${line}\r\n`).join(''))
    return undefined
  },
}

/** Returns the commands that the arguments name, undefined for each unknown one; undefined if they name none. */
function named(commands: readonly Command[], args: Arguments): readonly (Command | undefined)[] | undefined {
  if (args.count === 2) return undefined
  return Array.from({ length: args.count - 2 }, (_, i) => {
    const name = args.latin1(i + 2).toUpperCase()
    return commands.find((command) => command.name === name)
  })
}

/** Writes name, arity, flags, first key, last key, step, categories, tips, key specifications and subcommands, as Redis 7 does. */
function writeInfos(reply: ReplyWriter, commands: readonly (Command | undefined)[]): void {
  reply.array(commands.length)
  for (const command of commands) {
    if (command === undefined) {
      reply.nothing()
      continue
    }
    const { name, arity, needs, keyAt = 0 } = command
    reply.array(10)
    reply.bulk(name.toLowerCase())
    reply.integer(arity)
    reply.array(2)
    reply.simple(needs === 'check' ? 'write' : 'readonly')
    reply.simple('fast')
    reply.integer(keyAt)
    reply.integer(keyAt)
    reply.integer(keyAt === 0 ? 0 : 1)
    for (let empty = 0; empty < 4; empty++) reply.array(0)
  }
}

function writeDocs(reply: ReplyWriter, commands: readonly Command[]): void {
  reply.map(commands.length)
  for (const { name, summary, usage, needs } of commands) {
    reply.bulk(name.toLowerCase())
    reply.map(4)
    reply.bulk('summary')
    reply.bulk(summary)
    reply.bulk('since')
    reply.bulk(VERSION)
    reply.bulk('group')
    reply.bulk(needs === 'check' ? 'module' : 'connection')
    reply.bulk('arguments')
    writeUsage(reply, usage)
  }
}

/** Writes all arguments as one, since Redis describes each in a tree of its own. */
function writeUsage(reply: ReplyWriter, usage: string): void {
  reply.array(usage === '' ? 0 : 1)
  if (usage === '') return
  reply.map(3)
  reply.bulk('name')
  reply.bulk('arguments')
  reply.bulk('type')
  reply.bulk('string')
  reply.bulk('display_text')
  reply.bulk(usage)
}
