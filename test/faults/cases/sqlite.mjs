// A file of SQLite that another process has locked, whose processes are killed, or whose disk is full. Nothing is counted meanwhile.

import { setTimeout as pause } from 'node:timers/promises'
import { lockFile } from '../../servers/sqlite-lock.mjs'
import { sqliteFile, sqliteOnSmallDisk } from '../sqlite-environments.mjs'

/** @import { Fault } from '../run-fault.mjs' */
/** @import { ExpectedCounts } from '../assertions.mjs' */
/** @import { TargetOptions } from '../target.mjs' */

/** Denied hits write nothing, and are answered. So not all hits in a row fail. @type {ExpectedCounts} */
const REFUSED_WRITES = { timeout: 'none', refused: 'some', unknown: 'none', fatal: 'none', 'not-asked': 'any', recovered: 'some' }

/** @type {readonly TargetOptions[]} */
const TARGETS = [
  { client: 'sqlite', then: 'local', processes: 2 },
  { client: 'sqlite', then: 'allow' },
  { client: 'sqlite', then: 'deny' },
  { client: 'sqlite', then: 'throw' },
]

/** @type {Fault<Awaited<ReturnType<typeof sqliteFile>>>} */
export const sqliteLocked = {
  name: 'sqlite-locked',
  what: 'another process holds the lock of the file for a second',
  targets: TARGETS,
  startEnvironment: sqliteFile,
  async inject({ file }) {
    const lock = await lockFile(file)
    await pause(1000)
    await lock.release()
  },
  expects: REFUSED_WRITES,
}

/** @type {Fault<Awaited<ReturnType<typeof sqliteFile>>>} */
export const sqliteKilled = {
  name: 'sqlite-killed',
  what: 'three processes, one after another, are killed in the middle of a transaction',
  targets: TARGETS,
  startEnvironment: sqliteFile,
  async inject({ file }) {
    for (let i = 0; i < 3; i++) {
      const lock = await lockFile(file)
      await pause(200)
      await lock.kill()
    }
  },
  expects: REFUSED_WRITES,
}

/** @type {Fault<Awaited<ReturnType<typeof sqliteOnSmallDisk>>>} */
export const sqliteFull = {
  name: 'sqlite-full',
  what: 'the disk is full for a second',
  targets: TARGETS,
  startEnvironment: sqliteOnSmallDisk,
  async inject({ disk }) {
    disk.fill()
    await pause(1000)
    disk.free()
  },
  expects: REFUSED_WRITES,
}
