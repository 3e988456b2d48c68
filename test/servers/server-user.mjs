// The user of servers that refuse to run as root.

import { execFile } from 'node:child_process'
import { chownSync } from 'node:fs'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Options of spawn: the ids of an unprivileged user if this program runs as root, else nothing.
 * @typedef {{ uid?: number, gid?: number }} ServerUser
 */

/** @returns {Promise<ServerUser>} */
export async function serverUser() {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = await Promise.all(['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'nobody'])).stdout)))
  return { uid, gid }
}

/**
 * Makes the user the owner of files or folders, if it is another one.
 * @param {ServerUser} user
 * @param {...string} paths
 */
export function giveTo({ uid, gid }, ...paths) {
  if (uid === undefined || gid === undefined) return
  for (const path of paths) chownSync(path, uid, gid)
}
