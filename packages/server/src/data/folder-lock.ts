// One writer for one folder. Each process puts down a file of its own, then looks for those of others: of two that come at
// once at least one sees the other, so never do both stay. Files are never reused, so taking away that of a dead process is safe.

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

/** The version of the format of lock files. */
const VERSION = 1

/** A draft of this age was left by a process that ended while writing it. */
const OLD_DRAFT_MS = 60_000

/** An owner shows this often that it is alive, for those who cannot see its process. */
const BEAT_EVERY_MS = 1000

/** Who cannot see a process believes that it is dead after so long without a sign of life. */
const WATCH_MS = 5000

/** Two that come at once may both step back: then each tries again, at a time of its own. */
const TRIES = 3
const RETRY_MS = 50

/** A process as others can recognise it. */
interface Owner {
  readonly pid: number
  /** When the process started, by the machine's own count: a number that a later process of the same id does not have. */
  readonly started: string
  /** The machine, its start and its view of processes: who shares it can see the process. */
  readonly place: string
  readonly host: string
  readonly since: string
  /** Where the file was put down, and its number in the file system: a copy of a folder carries files that say otherwise. */
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

  /** Throws ERR_DATA_LOCKED, naming the process that has the folder. Takes it over from one that is dead. */
  static async acquire(folder: string, { watchMs = WATCH_MS }: LockOptions = {}): Promise<FolderLock> {
    const owner = await thisProcess()
    for (let left = TRIES; ; left--) {
      const path = await putDown(folder, owner)
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

  /** Whether nobody has taken the folder over, which happens to a process that showed no sign of life. */
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

/** Complete from the first moment that it can be seen. */
async function putDown(folder: string, owner: Owner): Promise<string> {
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

/** Another owner that is alive. Takes away the files of those that are dead. */
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
    // Gone meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new ServerError('ERR_DATA_DAMAGED', `${path} cannot be read: delete it if no process uses the folder`, { cause: error })
  }
}

async function isAlive(other: Owner, path: string, self: Owner, watchMs: number): Promise<boolean> {
  // The owner of a copied file may be alive, in the folder that the file was copied from. It touches its own file, never the copy.
  if (other.place !== self.place || (await isCopied(other, path))) return showsLife(path, watchMs)
  if (other.pid === process.pid) return other.started === self.started
  try {
    process.kill(other.pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return (await startOf(other.pid)) === other.started
}

/** True if the file is not where its owner put it. Files of the first version do not tell. */
async function isCopied({ folder, inode }: Owner, path: string): Promise<boolean> {
  if (folder === undefined || inode === undefined) return false
  try {
    const { ino } = await stat(path, { bigint: true })
    return String(ino) !== inode || (await realpath(dirname(path))) !== folder
  } catch {
    // Gone meanwhile: watching finds that out.
    return true
  }
}

/** Whether the file is touched while we watch. */
async function showsLife(path: string, watchMs: number): Promise<boolean> {
  const before = await touchedAt(path)
  for (let leftMs = watchMs; leftMs > 0; leftMs -= RETRY_MS) {
    await sleep(RETRY_MS)
    const now = await touchedAt(path)
    if (Number.isNaN(now)) return false
    if (now !== before) return true
  }
  return false
}

/** When a file was last touched; NaN if there is none. */
function touchedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NaN,
  )
}

async function thisProcess(): Promise<Owner> {
  const host = hostname()
  // On Linux a process can be told from a later one of its id, and from one of another container.
  const machine = [readFile('/proc/sys/kernel/random/boot_id', 'utf8'), readlink('/proc/self/ns/pid')]
  const marks = await Promise.all(machine.map((mark) => mark.catch(() => '')))
  const place = [host, ...marks.map((mark) => mark.trim())].join(' ')
  return { pid: process.pid, started: await startOf(process.pid), place, host, since: new Date().toISOString() }
}

/** When a process started; empty where the system does not tell. */
async function startOf(pid: number): Promise<string> {
  try {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold anything; the 20th field after it is the start.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return ''
  }
}
