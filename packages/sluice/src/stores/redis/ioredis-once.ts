// Commands of ioredis and iovalkey that are written to a connection once.
// These clients send a command again if its answer was lost. They ask the command for its text each time that they write it. A command
// that is asked for the second time fails, and a PING is written in its place, so that each answer belongs to the right command.

import { SluiceError } from '../../core/errors.ts'
import type { IoredisClient } from './redis-client.ts'

/** A command of the client. */
interface Command {
  readonly name: string
  readonly args: readonly unknown[]
  toWritable(socket: object): unknown
  reject(error: Error): void
}

/** The method by which `call` sends the command that it has made. */
interface Sender extends IoredisClient {
  sendCommand(command: Command, stream?: unknown): Promise<unknown>
}

const PING = '*1\r\n$4\r\nPING\r\n'

/** Returns this client with a `call` whose commands are written once. Undefined if the client does not make commands as expected. */
export function writingOnce(client: IoredisClient): IoredisClient | undefined {
  // The commands of a turn then share a pipeline, which sends them itself.
  if ((client.options as { readonly enableAutoPipelining?: boolean }).enableAutoPipelining === true) return undefined
  if (!makesCommands(client)) return undefined
  const once: Sender = Object.create(client)
  once.sendCommand = (command, stream) => {
    command.toWritable = firstText
    return (client as Sender).sendCommand(command, stream)
  }
  return once
}

/** True if `call` makes a command and passes it to `sendCommand`. Nothing is sent. */
function makesCommands(client: IoredisClient): boolean {
  let command: Partial<Command> | undefined
  const probe: Partial<Sender> & Pick<Sender, 'call'> = Object.create(client)
  probe.sendCommand = (made) => {
    command = made
    return Promise.resolve()
  }
  if (typeof (client as Partial<Sender>).sendCommand !== 'function') return false
  void probe.call('ping').catch(() => {})
  if (typeof command?.toWritable !== 'function' || typeof command.reject !== 'function') return false
  return typeof command.name === 'string' && Array.isArray(command.args)
}

function firstText(this: Command, socket: object): unknown {
  this.toWritable = nextText
  return plainText(this) ?? (Object.getPrototypeOf(this) as Command).toWritable.call(this, socket)
}

/**
 * Returns the text of a command. Undefined if not all of it is ASCII. The client counts the bytes of each argument by itself. Here they are
 * counted once: if a text has as many bytes as characters, each part of it has.
 */
function plainText({ name, args }: Command): string | undefined {
  let text = `*${args.length + 1}\r\n$${name.length}\r\n${name}\r\n`
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]
    if (typeof arg !== 'string') return undefined
    text += `$${arg.length}\r\n${arg}\r\n`
  }
  return Buffer.byteLength(text) === text.length ? text : undefined
}

function nextText(this: Command): unknown {
  this.reject(new SluiceError('ERR_STORE_UNKNOWN', 'the connection was lost before Redis had answered'))
  return PING
}
