// All commands of the door, found by the bytes of their names.
// Invariant: a command is found, its number of arguments checked, and its caller known, in this order, as Redis does. Every command gets
// exactly one reply.

import type { Logger } from '../../../log/logger.ts'
import { type Arguments, word } from '../protocol/arguments.ts'
import type { ReplyWriter } from '../protocol/reply-writer.ts'
import { errorText } from '../resp-error.ts'
import { LOADING, NOAUTH, type Session } from '../session.ts'
import { check } from './check.ts'
import type { Command, WriteReply } from './command.ts'
import { cancel, extend, reserve, settle } from './holds.ts'
import { commandCommand, info } from './introspection.ts'
import { auth, client, echo, hello, ping, quit, reset, select } from './session-commands.ts'
import { throttle } from './throttle.ts'

export const COMMANDS: readonly Command[] = [
  throttle,
  check,
  reserve,
  settle,
  cancel,
  extend,
  auth,
  hello,
  ping,
  echo,
  quit,
  reset,
  select,
  client,
  commandCommand(() => COMMANDS),
  info,
]

interface Named {
  readonly word: Uint8Array
  readonly command: Command
}

/**
 * First words of lines of HTTP. A page in a browser can send a request to this door, with commands in its body. So the connection is
 * closed before the body, as Redis does.
 */
const HTTP_WORDS = [word('POST'), word('Host:')]

/** Maximum length of the quoted parts of an error about an unknown command. */
const QUOTED = 128

export class CommandTable {
  readonly #logger: Logger
  /** Commands by the length of their names. */
  readonly #byLength: readonly (readonly Named[])[]
  /** The last command. */
  #last: Command | undefined

  constructor(logger: Logger) {
    this.#logger = logger
    const named = COMMANDS.map((command): Named => ({ word: word(command.name), command }))
    const longest = Math.max(...named.map((each) => each.word.length))
    this.#byLength = Array.from({ length: longest + 1 }, (_, length) => named.filter((each) => each.word.length === length))
  }

  /** Runs a command. Writes its reply, or returns a promise of it that never rejects. */
  run(args: Arguments, reply: ReplyWriter, session: Session): Promise<WriteReply> | undefined {
    const command = args.isRepeat ? this.#last : this.#find(args)
    this.#last = command
    if (command === undefined) {
      const isHttp = HTTP_WORDS.some((name) => args.is(0, name))
      if (isHttp) session.isLeaving = true
      reply.error(isHttp ? 'ERR Protocol error: this is HTTP' : unknownCommand(args))
      return undefined
    }
    const { arity } = command
    if (arity < 0 ? args.count < -arity : args.count !== arity) {
      reply.error(`ERR wrong number of arguments for '${command.name.toLowerCase()}' command`)
      return undefined
    }
    const refusal = refusalOf(command, session)
    if (refusal !== undefined) {
      reply.error(refusal)
      return undefined
    }
    try {
      const later = command.run(args, reply, session)
      return later?.catch((error: unknown) => (written) => this.#fail(written, error, command))
    } catch (error) {
      this.#fail(reply, error, command)
      return undefined
    }
  }

  #find(args: Arguments): Command | undefined {
    const candidates = this.#byLength[args.length(0)]
    if (candidates === undefined) return undefined
    for (const candidate of candidates) if (args.is(0, candidate.word)) return candidate.command
    return undefined
  }

  #fail(reply: ReplyWriter, error: unknown, { name }: Command): void {
    reply.error(errorText(error, this.#logger, name))
  }
}

/** Returns the error for a caller who may not run the command; undefined if it may. */
function refusalOf({ needs }: Command, session: Session): string | undefined {
  if (needs === 'anybody') return undefined
  const { key, service } = session
  if (service.status.state === 'starting' && (needs === 'check' || key === undefined)) return LOADING
  if (key === undefined) return NOAUTH
  if (needs === 'key' || session.mayCheck) return undefined
  return `NOPERM this needs a key with the scope check: the key ${key.id} has ${key.scopes.join(', ')}`
}

function unknownCommand(args: Arguments): string {
  let quoted = ''
  for (let i = 1; i < args.count && quoted.length < QUOTED; i++) quoted += `'${args.latin1(i).slice(0, QUOTED - quoted.length)}' `
  return `ERR unknown command '${args.latin1(0).slice(0, QUOTED)}', with args beginning with: ${quoted}`
}
