// Where the command line reads and writes.
// What must stay true: what others have named – clients, routes, policies, messages of a server – cannot steer the terminal.

import type { Readable, Writable } from 'node:stream'

export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown }
  readonly stdout: Writable & Screen
  readonly stderr: Writable & Screen
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the command will end with; 0 unless it says otherwise. */
  exitCode: number
}

export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** Control characters, also those beyond ASCII, and marks that turn the direction of text. */
const STEERING = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Text without what steers a terminal; each such character becomes a `·`. */
export function plain(text: string): string {
  return text.replace(STEERING, '·')
}

/** Writes lines; what stands between line breaks is made plain. */
export function print(stream: Writable, text: string): void {
  stream.write(`${text.split('\n').map(plain).join('\n')}\n`)
}

/** Writes a value as JSON, over several lines unless the indent is 0. */
export function printJson(stream: Writable, value: unknown, indent = 2): void {
  // JSON escapes what steers in ASCII, and leaves the rest as it is. Its own line breaks stay.
  const text = JSON.stringify(value, null, indent)
  stream.write(`${text.replace(STEERING, (character) => (character === '\n' ? character : escaped(character)))}\n`)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
