// The first line of a file, without reading more of it than that.

import { open } from 'node:fs/promises'

const NEWLINE = 0x0a

const BYTES_AT_A_TIME = 4096

/** A line that is longer is none of ours: a body that is written down has 16 KiB at most. */
const LONGEST_LINE = 1_000_000

/** Undefined if the file has no whole line, or is gone. */
export async function firstLine(path: string): Promise<string | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return undefined
  try {
    const parts: Buffer[] = []
    for (let at = 0; at < LONGEST_LINE; ) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(BYTES_AT_A_TIME), 0, BYTES_AT_A_TIME, at)
      const newline = buffer.subarray(0, bytesRead).indexOf(NEWLINE)
      parts.push(buffer.subarray(0, newline < 0 ? bytesRead : newline))
      if (newline >= 0) return Buffer.concat(parts).toString('utf8')
      if (bytesRead === 0) return undefined
      at += bytesRead
    }
    return undefined
  } finally {
    await file.close()
  }
}
