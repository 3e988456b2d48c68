// Commands of memcached's meta protocol, as text. Each byte of a value is one character.
// Invariant: keys are printable ASCII without spaces, at most LONGEST_KEY characters, so that no key can end a command.

import { Buffer } from 'node:buffer'
import type { Versioned } from '../../engines/records/versioned-records.ts'
import type { Reply } from './reply-reader.ts'

export const LONGEST_KEY = 250

/** A command. `T` is the type of its answer. */
export interface Command<T> {
  /** True if the command may have changed something when its answer is lost. */
  readonly isWrite: boolean
  /** The command for the server. The server repeats `opaque` in its answer. */
  text(opaque: number): string
  /** Returns the answer in a list of one; undefined if the reply is no answer to this command. */
  read(reply: Reply): readonly [T] | undefined
}

/** Reads an item with its version: memcached's unique number of a write. */
export function getItem(key: string): Command<Versioned<string> | undefined> {
  return {
    isWrite: false,
    text: (opaque) => `mg ${key} v c O${opaque}\r\n`,
    read(reply) {
      if (reply.kind === 'value') return [{ value: reply.bytes, version: reply.cas }]
      return reply.kind === 'status' && reply.code === 'EN' ? [undefined] : undefined
    },
  }
}

export interface ItemToSet {
  readonly key: string
  readonly value: Uint8Array
  readonly expiry: number
  /** The version that the item must have. Undefined if there must be no such item. */
  readonly version: string | undefined
}

/** Writes an item. The answer is true if it was written. */
export function setItem({ key, value, expiry, version }: ItemToSet): Command<boolean> {
  const condition = version === undefined ? 'ME' : `C${version}`
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1')
  return {
    isWrite: true,
    text: (opaque) => `ms ${key} ${value.byteLength} ${condition} T${expiry} O${opaque}\r\n${bytes}\r\n`,
    read: (reply) => (reply.kind === 'status' ? WRITTEN[reply.code] : undefined),
  }
}

/** Deletes an item if it has this version. The answer is true if it was deleted. */
export function deleteItem(key: string, version: string): Command<boolean> {
  return {
    isWrite: true,
    text: (opaque) => `md ${key} C${version} O${opaque}\r\n`,
    read: (reply) => (reply.kind === 'status' && reply.code !== 'NS' ? WRITTEN[reply.code] : undefined),
  }
}

/** HD: written. NS: there is such an item. EX: it has another version. NF: it has gone. */
const WRITTEN: Readonly<Record<string, readonly [boolean] | undefined>> = { HD: [true], NS: [false], EX: [false], NF: [false] }

/** A command that changes nothing. Servers without the meta protocol answer with an error. */
export const NO_OPERATION = 'mn\r\n'

/** Signs in on a server that was started with a file of passwords (`-Y`). */
export function signIn(username: string, password: string): string {
  const bytes = Buffer.from(`${username} ${password}`, 'utf8')
  return `set auth 0 0 ${bytes.byteLength}\r\n${bytes.toString('latin1')}\r\n`
}
