// Reads the first line of a file, and no more of it.

import { open } from 'node:fs/promises'

const NEWLINE = 0x0a

const BYTES_AT_A_TIME = 4096

/** Longer lines are not ours: an audited body has at most 16 KiB. */
const LONGEST_LINE = 1_000_000

/** Returns undefined if the file has no complete line or does not exist. */
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
