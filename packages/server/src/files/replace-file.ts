// Replaces a file. Invariant: at any moment the path leads to the complete old content or the complete new content.

import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PRIVATE_FILE, syncFolder, writeAll } from './append-file.ts'

/** Name of the file until it is complete. */
export function draftOf(path: string): string {
  return `${path}.tmp`
}

/** Writes the chunks in order. Resolves with their total length when they are on disk. */
export async function replaceFile(path: string, chunks: Iterable<Uint8Array>): Promise<number> {
  const file = await open(draftOf(path), 'w', PRIVATE_FILE)
  let length = 0
  try {
    for (const chunk of chunks) {
      await writeAll(file, chunk, length)
      length += chunk.length
    }
    await file.datasync()
  } finally {
    await file.close()
  }
  await rename(draftOf(path), path)
  await syncFolder(dirname(path))
  return length
}
