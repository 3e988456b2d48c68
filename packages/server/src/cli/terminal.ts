// Input and output of the command line.
// Invariant: text from others (clients, routes, policies, messages of a server) cannot control the terminal.

import type { Readable, Writable } from 'node:stream'

export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly stdout: Writable & Screen
  readonly stderr: Writable & Screen
  readonly env: Readonly<Record<string, string | undefined>>
  /** The exit code of the command. Default: 0. */
  exitCode: number
}

export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** Control characters, including those beyond ASCII, and marks that change the direction of text. */
const STEERING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Replaces each control character by `·`. */
export function plain(text: string): string {
  return text.replace(STEERING, '·')
}

/** Writes lines, with control characters replaced. */
export function print(stream: Writable, text: string): void {
  stream.write(`${text.split('\n').map(plain).join('\n')}\n`)
}

/** Writes a value as JSON. An indent of 0 gives one line. */
export function printJson(stream: Writable, value: unknown, indent = 2): void {
  // JSON.stringify escapes only ASCII control characters, so the others are escaped here. The line breaks of the indent stay.
  const text = JSON.stringify(value, null, indent)
  stream.write(`${text.replace(STEERING, (character) => (character === '\n' ? character : escaped(character)))}\n`)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
