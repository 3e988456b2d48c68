// Opens logs: files and standard input, plain or compressed with gzip.
// Invariant: every file is opened before the first one is read, so that a wrong name is found at once.

import { readSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** Bytes that are read at once. */
const CHUNK_BYTES = 2 ** 16

const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])

export interface OpenLog {
  /** The name as it was given. `-` is standard input. */
  readonly name: string
  /** Bytes of the file as it is stored. Undefined for standard input and for anything else without a size. */
  readonly bytes: number | undefined
  /**
   * Decompressed bytes. A chunk changes when the next one is asked for. `onBytes` is called with the number of stored bytes that were
   * read.
   */
  chunks(onBytes: (bytes: number) => void): AsyncIterable<Buffer>
}

/** Opens all logs. Rejects if one cannot be opened; the others are closed. */
export async function openLogs(names: readonly string[], stdin: Readable): Promise<readonly OpenLog[]> {
  const opened: FileHandle[] = []
  try {
    const logs: OpenLog[] = []
    for (const name of names) {
      if (name === '-') {
        logs.push(ofStream(name, () => stdin))
        continue
      }
      const handle = await open(name)
      opened.push(handle)
      const stat = await handle.stat()
      if (stat.isDirectory()) throw new Error(`${name} is a folder: name a file`)
      logs.push(stat.isFile() ? ofFile(name, handle, stat.size) : ofStream(name, () => handle.createReadStream()))
    }
    return logs
  } catch (error) {
    await Promise.all(opened.map((handle) => handle.close()))
    throw error
  }
}

function ofStream(name: string, open: () => AsyncIterable<Buffer | string>): OpenLog {
  return { name, bytes: undefined, chunks: (onBytes) => plainBytes(counted(open(), onBytes)) }
}

function ofFile(name: string, handle: FileHandle, bytes: number): OpenLog {
  return { name, bytes, chunks: (onBytes) => fileBytes(handle, onBytes) }
}

/** Reads a file from its start, and closes it. */
async function* fileBytes(handle: FileHandle, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(GZIP_MAGIC.length), 0, GZIP_MAGIC.length, 0)
  if (isCompressed(buffer.subarray(0, bytesRead))) {
    yield* plainBytes(counted(handle.createReadStream({ highWaterMark: CHUNK_BYTES, start: 0 }), onBytes))
    return
  }
  // One buffer for all chunks, and no threads: both would take longer than to split the bytes into lines.
  const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  try {
    for (let read = readSync(handle.fd, chunk); read > 0; read = readSync(handle.fd, chunk)) {
      onBytes(read)
      yield chunk.subarray(0, read)
    }
  } finally {
    await handle.close()
  }
}

function isCompressed(first: Buffer): boolean {
  return first.subarray(0, GZIP_MAGIC.length).equals(GZIP_MAGIC)
}

/** Passes bytes on, and decompresses them if they begin with the magic bytes of gzip. */
async function* plainBytes(stored: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer = Buffer.alloc(0)
  while (first.length < GZIP_MAGIC.length) {
    const { value, done } = await stored.next()
    if (done) break
    first = Buffer.concat([first, value])
  }
  if (!isCompressed(first)) {
    if (first.length > 0) yield first
    yield* stored
    return
  }
  const compressed = Readable.from(joined(first, stored))
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  compressed.on('error', (error) => gunzip.destroy(error)).pipe(gunzip)
  yield* gunzip
}

async function* joined(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first
  yield* rest
}

async function* counted(stream: AsyncIterable<Buffer | string>, onBytes: (bytes: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    onBytes(bytes.length)
    yield bytes
  }
}
