// Removes the socket file of a process that was killed. No other process can listen there until the file is gone.
// Invariant: only a socket that refuses connections is removed. A file of any other kind is left alone.

import { lstat, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { ServerError } from '../errors.ts'

export async function removeStaleSocket(path: string): Promise<void> {
  await refuseMissingFolder(path)
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined) return
  if (!found.isSocket()) {
    throw new ServerError(
      'ERR_CONFIG',
      `cannot listen on unix:${path}: a file that is not a socket is there, and it is not removed`,
    )
  }
  if (await refuses(path)) await rm(path, { force: true })
}

/** Reports the missing folder, because the system's own error says "access denied". */
async function refuseMissingFolder(path: string): Promise<void> {
  const folder = dirname(path)
  const problem = await stat(folder).then(
    (found) => (found.isDirectory() ? undefined : `${folder} is not a folder`),
    ({ code }: NodeJS.ErrnoException) => (code === 'ENOENT' ? `the folder ${folder} does not exist` : undefined),
  )
  if (problem !== undefined) throw new ServerError('ERR_CONFIG', `cannot listen on unix:${path}: ${problem}`)
}

function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'))
  })
}
