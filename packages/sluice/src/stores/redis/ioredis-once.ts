// Commands of ioredis and iovalkey that are written to a connection once.
// These clients send a command again if its answer was lost. They ask the command for its text each time that they write it. A command
// that is asked for the second time fails, and a PING is written in its place, so that each answer belongs to the right command.

import { SluiceError } from '../../core/errors.ts'
import type { IoredisClient } from './redis-client.ts'

/** A command of the client. */
interface Command {
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
  return typeof command?.toWritable === 'function' && typeof command.reject === 'function'
}

function firstText(this: Command, socket: object): unknown {
  this.toWritable = nextText
  return (Object.getPrototypeOf(this) as Command).toWritable.call(this, socket)
}

function nextText(this: Command): unknown {
  this.reject(new SluiceError('ERR_STORE_UNKNOWN', 'the connection was lost before Redis had answered'))
  return PING
}
