// A lock: one writer for one folder. Each process writes a lock file of its own, then looks for those of others. If two processes
// start at once, at least one sees the other, so they never both keep the lock. Lock files are never reused, so it is safe to remove
// one of a dead process.

import { randomBytes } from 'node:crypto'
import { access, open, readdir, readFile, readlink, realpath, rename, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServerError } from '../errors.ts'
import { PRIVATE_FILE } from './append-file.ts'
import { refuseNewer } from './file-version.ts'

const PREFIX = 'lock-'
const DRAFT = 'draft-'

/** Version of the format of lock files. */
const VERSION = 1

/** A draft of this age was left by a process that ended while writing it. */
const OLD_DRAFT_MS = 60_000

/** The owner touches its lock file at this interval, for processes that cannot see the owner's process. */
const BEAT_EVERY_MS = 1000

/** A process that cannot see the owner considers it dead if the file is not touched for this time. */
const WATCH_MS = 5000

/** Two processes that start at once may both give up. Then each tries again after a random time. */
const TRIES = 3
const RETRY_MS = 50

/** A process, with facts that identify it. */
interface Owner {
  readonly pid: number
  /** Start time of the process in clock ticks. A later process with the same id has another value. */
  readonly started: string
  /** The machine, its boot and its process namespace. Processes in the same place can see each other. */
  readonly place: string
  readonly host: string
  readonly since: string
  /** Folder and inode of the lock file. In a copied folder they do not match. */
  readonly folder?: string
  readonly inode?: string
  readonly version?: number
}

export interface LockOptions {
  readonly watchMs?: number
}

export class FolderLock {
  readonly #path: string
  readonly #timer: NodeJS.Timeout

  private constructor(path: string) {
    this.#path = path
    this.#timer = setInterval(() => utimes(path, new Date(), new Date()).catch(() => {}), BEAT_EVERY_MS)
    this.#timer.unref()
  }

  /** Throws ERR_DATA_LOCKED with the name of the owner. Takes over the lock of a dead process. */
  static async acquire(folder: string, { watchMs = WATCH_MS }: LockOptions = {}): Promise<FolderLock> {
    const owner = await thisProcess()
    for (let left = TRIES; ; left--) {
      const path = await writeLockFile(folder, owner)
      const lock = new FolderLock(path)
      const other = await liveOwner(folder, path, owner, watchMs)
      if (other === undefined) return lock
      await lock.release()
      if (left === 1) {
        throw new ServerError(
          'ERR_DATA_LOCKED',
          `the data folder ${folder} is in use by process ${other.pid} on ${other.host} since ${other.since}: stop it, or use another folder`,
        )
      }
      await sleep(RETRY_MS * (1 + Math.random()))
    }
  }

  /** False if another process took over the lock, which happens if this process did not touch its file in time. */
  async isHeld(): Promise<boolean> {
    return access(this.#path).then(
      () => true,
      () => false,
    )
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    await rm(this.#path, { force: true })
  }
}

/** Writes the lock file. It is complete from the moment it becomes visible. */
async function writeLockFile(folder: string, owner: Owner): Promise<string> {
  const path = join(folder, `${PREFIX}${randomBytes(6).toString('hex')}`)
  const draft = join(folder, `${DRAFT}${randomBytes(6).toString('hex')}`)
  const file = await open(draft, 'wx', PRIVATE_FILE)
  try {
    const { ino } = await file.stat({ bigint: true })
    const whole: Owner = { version: VERSION, ...owner, folder: await realpath(folder), inode: String(ino) }
    await file.writeFile(`${JSON.stringify(whole)}\n`)
  } finally {
    await file.close()
  }
  await rename(draft, path)
  return path
}

/** Returns another owner that is alive. Removes the lock files of dead ones. */
async function liveOwner(folder: string, own: string, self: Owner, watchMs: number): Promise<Owner | undefined> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (name.startsWith(DRAFT) && Date.now() - (await touchedAt(path)) > OLD_DRAFT_MS) await rm(path, { force: true })
    if (!name.startsWith(PREFIX) || path === own) continue
    const other = await readOwner(path)
    if (other === undefined) continue
    refuseNewer(path, other.version, VERSION)
    if (await isAlive(other, path, self, watchMs)) return other
    await rm(path, { force: true })
  }
  return undefined
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    // Removed by its owner meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new ServerError('ERR_DATA_DAMAGED', `${path} cannot be read: delete it if no process uses the folder`, { cause: error })
  }
}

async function isAlive(other: Owner, path: string, self: Owner, watchMs: number): Promise<boolean> {
  // The owner of a copied lock file may be alive in the original folder. It touches the original, never the copy.
  if (other.place !== self.place || (await isCopied(other, path))) return isTouched(path, watchMs)
  if (other.pid === process.pid) return other.started === self.started
  try {
    process.kill(other.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return (await startOf(other.pid)) === other.started
}

/** True if the lock file is not where its owner wrote it. Files of the first version lack this information. */
async function isCopied({ folder, inode }: Owner, path: string): Promise<boolean> {
  if (folder === undefined || inode === undefined) return false
  try {
    const { ino } = await stat(path, { bigint: true })
    return String(ino) !== inode || (await realpath(dirname(path))) !== folder
  } catch {
    // Removed meanwhile. Watching the file will show that.
    return true
  }
}

/** Watches the file. True if it is touched within `watchMs`. */
async function isTouched(path: string, watchMs: number): Promise<boolean> {
  const before = await touchedAt(path)
  for (let leftMs = watchMs; leftMs > 0; leftMs -= RETRY_MS) {
    await sleep(RETRY_MS)
    const now = await touchedAt(path)
    if (Number.isNaN(now)) return false
    if (now !== before) return true
  }
  return false
}

/** Returns the modification time; NaN if there is no file. */
function touchedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NaN,
  )
}

async function thisProcess(): Promise<Owner> {
  const host = hostname()
  // On Linux, boot id and process namespace identify the place of a process, so that containers are distinguished.
  const machine = [readFile('/proc/sys/kernel/random/boot_id', 'utf8'), readlink('/proc/self/ns/pid')]
  const marks = await Promise.all(machine.map((mark) => mark.catch(() => '')))
  const place = [host, ...marks.map((mark) => mark.trim())].join(' ')
  return { pid: process.pid, started: await startOf(process.pid), place, host, since: new Date().toISOString() }
}

/** Returns the start time of a process; empty if the system does not provide it. */
async function startOf(pid: number): Promise<string> {
  try {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name is in parentheses and may contain anything. The 20th field after it is the start time.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return ''
  }
}
