// Files of the data folder contain the version of their format. A file without a version is older than versions.

import { ServerError } from '../errors.ts'

/** Throws ERR_DATA_VERSION if a newer program wrote the file, because this program could misread it. */
export function refuseNewer(path: string, version: unknown, newest: number): void {
  if (version === undefined || (typeof version === 'number' && version <= newest)) return
  throw new ServerError(
    'ERR_DATA_VERSION',
    `${path} has version ${version}, and this program reads versions up to ${newest}: use the program that wrote it, or a newer one`,
  )
}
