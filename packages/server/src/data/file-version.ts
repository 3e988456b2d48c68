// Files of the data folder carry the version of their form. A file without one was written before there were versions.

import { ServerError } from '../errors.ts'

/** Throws ERR_DATA_VERSION if a file was written by a later program, which this one would misread. */
export function refuseNewer(path: string, version: unknown, newest: number): void {
  if (version === undefined || (typeof version === 'number' && version <= newest)) return
  throw new ServerError(
    'ERR_DATA_VERSION',
    `${path} is of version ${version}, and this program reads versions up to ${newest}: use the program that wrote it, or a later one`,
  )
}
