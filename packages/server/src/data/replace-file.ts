// Puts a new file in the place of another. What must stay true: at any moment the path leads to all of the old or all of the new.

import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { PRIVATE_FILE, syncFolder, writeAll } from './append-file.ts'

/** What the file is called until it is whole. */
export function draftOf(path: string): string {
  return `${path}.tmp`
}

/** Writes the parts, one after the other; resolves with their length when they are safe. */
export async function replaceFile(path: string, parts: Iterable<Uint8Array>): Promise<number> {
  const file = await open(draftOf(path), 'w', PRIVATE_FILE)
  let length = 0
  try {
    for (const part of parts) {
      await writeAll(file, part, length)
      length += part.length
    }
    await file.datasync()
  } finally {
    await file.close()
  }
  await rename(draftOf(path), path)
  await syncFolder(dirname(path))
  return length
}
