import { cpSync, linkSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { FolderLock } from './folder-lock.ts'

const locksIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('lock-'))

/** Writes the lock file of another process, derived from that of this one. */
async function leaveLock(folder: string, changes: object): Promise<string> {
  const own = await FolderLock.acquire(folder)
  const [name] = locksIn(folder)
  const owner = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  await own.release()
  const path = join(folder, 'lock-other')
  writeFileSync(path, '')
  // With the inode of another file it would be the copy of a lock.
  const inode = String(statSync(path, { bigint: true }).ino)
  writeFileSync(path, JSON.stringify({ ...owner, inode, ...changes }))
  return path
}

test('a folder has one owner at a time, and the message names it', async () => {
  const folder = temporaryFolder()
  const lock = await FolderLock.acquire(folder)
  await expect(FolderLock.acquire(folder)).rejects.toMatchObject({
    code: 'ERR_DATA_LOCKED',
    message: expect.stringMatching(`${folder} is in use by process ${process.pid} on .* since 20`),
  })
  expect(await lock.isHeld()).toBe(true)
  await lock.release()
  expect(await lock.isHeld()).toBe(false)
  await (await FolderLock.acquire(folder)).release()
  expect(readdirSync(folder)).toEqual([])
})

test('the lock of a dead process is taken over', async () => {
  const folder = temporaryFolder()
  // Higher than any process id of a real system.
  await leaveLock(folder, { pid: 2 ** 30 })
  const lock = await FolderLock.acquire(folder)
  expect(locksIn(folder)).toHaveLength(1)
  await lock.release()
})

test.runIf(process.platform === 'linux')(
  'so is that of an earlier process with the id of one that lives, or our own',
  async () => {
    for (const pid of [process.ppid, process.pid]) {
      const folder = temporaryFolder()
      await leaveLock(folder, { pid, started: '1' })
      await (await FolderLock.acquire(folder)).release()
    }
  },
)

test('the lock of a process that cannot be seen is taken over if its file is not touched', async () => {
  const folder = temporaryFolder()
  await leaveLock(folder, { place: 'another machine' })
  await (await FolderLock.acquire(folder, { watchMs: 100 })).release()
})

test('and is not taken over while its file is touched', async () => {
  const folder = temporaryFolder()
  const path = await leaveLock(folder, { place: 'another machine', host: 'elsewhere', pid: 7 })
  const beat = setInterval(() => utimesSync(path, new Date(), new Date()), 20)
  try {
    await expect(FolderLock.acquire(folder, { watchMs: 2000 })).rejects.toThrow(/in use by process 7 on elsewhere/)
  } finally {
    clearInterval(beat)
  }
})

test('a copy of a folder in use is free; the original stays locked', async () => {
  const [folder, copy, linked] = [temporaryFolder(), temporaryFolder(), temporaryFolder()]
  const lock = await FolderLock.acquire(folder)
  const [name] = locksIn(folder)
  cpSync(folder, copy, { recursive: true, preserveTimestamps: true })
  // The same file in another place, as in a snapshot of a whole disk.
  linkSync(join(folder, name), join(linked, name))
  await (await FolderLock.acquire(copy, { watchMs: 100 })).release()
  expect(locksIn(copy)).toEqual([])
  await expect(FolderLock.acquire(linked, { watchMs: 5000 })).rejects.toMatchObject({ code: 'ERR_DATA_LOCKED' })
  await expect(FolderLock.acquire(folder, { watchMs: 100 })).rejects.toMatchObject({ code: 'ERR_DATA_LOCKED' })
  await lock.release()
  await (await FolderLock.acquire(linked, { watchMs: 100 })).release()
})

test('a lock file without a version, which lacks its place, works as before', async () => {
  const folder = temporaryFolder()
  await leaveLock(folder, { version: undefined, folder: undefined, inode: undefined })
  await expect(FolderLock.acquire(folder, { watchMs: 100 })).rejects.toMatchObject({ code: 'ERR_DATA_LOCKED' })
})

test('a lock file of a newer version is refused', async () => {
  const folder = temporaryFolder()
  await leaveLock(folder, { version: 2 })
  await expect(FolderLock.acquire(folder)).rejects.toMatchObject({ code: 'ERR_DATA_VERSION' })
})

test('a lock file that cannot be read is refused', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'lock-other'), '')
  await expect(FolderLock.acquire(folder)).rejects.toMatchObject({ code: 'ERR_DATA_DAMAGED' })
})

test('of many processes that start at once, never two get the lock', async () => {
  const folder = temporaryFolder()
  let holders = 0
  let turns = 0
  const take = async (): Promise<void> => {
    for (;;) {
      try {
        const lock = await FolderLock.acquire(folder)
        holders += 1
        expect(holders).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        turns += 1
        holders -= 1
        return await lock.release()
      } catch (error) {
        if ((error as { code?: string }).code !== 'ERR_DATA_LOCKED') throw error
      }
    }
  }
  await Promise.all(Array.from({ length: 6 }, take))
  expect(turns).toBe(6)
})
