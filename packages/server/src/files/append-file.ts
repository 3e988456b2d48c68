// An append-only file. Invariant: when `append` resolves, the text is on disk. When it rejects, the file contains nothing of the
// text, or accepts no more text.

import { constants, type FileHandle, open } from 'node:fs/promises'
import { messageOf, ServerError } from '../errors.ts'

/** Readable only by its owner: these files contain digests of keys and the audit log. */
export const PRIVATE_FILE = 0o600

export class AppendFile {
  readonly path: string
  readonly #file: FileHandle
  #length: number
  #failure: ServerError | undefined

  private constructor(path: string, file: FileHandle, length: number) {
    this.path = path
    this.#file = file
    this.#length = length
  }

  /** Opens a file, and creates it if needed. */
  static async open(path: string): Promise<AppendFile> {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, PRIVATE_FILE)
    const { size } = await file.stat()
    return new AppendFile(path, file, size)
  }

  /** Length in bytes. */
  get length(): number {
    return this.#length
  }

  async append(text: string): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const bytes = Buffer.from(text, 'utf8')
    try {
      await writeAll(this.#file, bytes, this.#length)
      await this.#file.datasync()
      this.#length += bytes.length
    } catch (cause) {
      const failed = new ServerError('ERR_DATA_WRITE', `${this.path} could not be written: ${messageOf(cause)}`, { cause })
      await this.truncate(this.#length).catch(() => {
        this.#failure = failed
      })
      throw failed
    }
  }

  /** Shortens the file to a length in bytes. */
  async truncate(length: number): Promise<void> {
    await this.#file.truncate(length)
    await this.#file.datasync()
    this.#length = length
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}

export async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}

/** Flushes the entries of a folder, after a file was created, renamed or deleted. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot open a folder and does not need this.
  if (process.platform === 'win32') return
  const folder = await open(path, constants.O_RDONLY)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
