// Reads the lines of a file from the end, and no more of it than needed.

import { open } from 'node:fs/promises'

const NEWLINE = 0x0a

const BYTES_AT_A_TIME = 65_536

export interface PlacedLine {
  readonly line: string
  /** Offset of the line in bytes. */
  readonly start: number
}

/** Yields the lines that end at or before byte `end`, last one first. Yields nothing if the file does not exist. */
export async function* linesBefore(path: string, end: number): AsyncGenerator<PlacedLine> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return
  try {
    const { size } = await file.stat()
    let from = Math.min(end, size)
    /** Bytes that were read and not yielded yet, starting at byte `from` of the file. */
    let bytes: Buffer = Buffer.alloc(0)
    for (;;) {
      let newline = bytes.length > 1 ? bytes.lastIndexOf(NEWLINE, bytes.length - 2) : -1
      while (newline >= 0) {
        yield { line: textOf(bytes, newline + 1), start: from + newline + 1 }
        bytes = bytes.subarray(0, newline + 1)
        newline = newline > 0 ? bytes.lastIndexOf(NEWLINE, newline - 1) : -1
      }
      if (from === 0) break
      const length = Math.min(BYTES_AT_A_TIME, from)
      from -= length
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, from)
      bytes = Buffer.concat([buffer, bytes])
    }
    if (bytes.length > 0) yield { line: textOf(bytes, 0), start: 0 }
  } finally {
    await file.close()
  }
}

/** Decodes a line without its final newline. */
function textOf(bytes: Buffer, start: number): string {
  return bytes.toString('utf8', start, bytes.length - 1)
}
