// Reads and checks the files of the certificate and its private key.

import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { messageOf, type Problem, ServerError } from '../errors.ts'
import type { Config, LoadedConfig } from './config.ts'

export interface TlsFiles {
  readonly cert: Buffer
  readonly key: Buffer
  readonly minVersion: 'TLSv1.2'
}

/**
 * Returns undefined if the service does not use TLS. Throws ERR_CONFIG with all problems of the files.
 * `written` adds the origin of the file names to the messages.
 */
export async function readTlsFiles(
  { tlsCert, tlsKey }: Pick<Config, 'tlsCert' | 'tlsKey'>,
  written?: LoadedConfig['written'],
): Promise<TlsFiles | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const problems: Problem[] = []
  const refuse = (at: 'tlsCert' | 'tlsKey', message: string): void => {
    problems.push({ at, message: `${message}${written === undefined ? '' : ` (${written[at].origin})`}` })
  }
  const read = async (at: 'tlsCert' | 'tlsKey', path: string): Promise<Buffer | undefined> => {
    try {
      return await readFile(path)
    } catch (error) {
      refuse(at, `${at} ${path} cannot be read: ${messageOf(error)}`)
      return undefined
    }
  }
  // One after the other: problems are reported in the order of the options.
  const cert = await read('tlsCert', tlsCert)
  const key = await read('tlsKey', tlsKey)
  if (cert !== undefined) {
    const fault = faultOf({ cert })
    if (fault !== undefined) refuse('tlsCert', `tlsCert ${tlsCert} is not a certificate in PEM: ${fault}`)
  }
  if (key !== undefined) {
    const fault = faultOf({ key })
    if (fault !== undefined) refuse('tlsKey', `tlsKey ${tlsKey} is not a private key in PEM without a password: ${fault}`)
  }
  if (cert !== undefined && key !== undefined && problems.length === 0) {
    const fault = faultOf({ cert, key })
    if (fault !== undefined) refuse('tlsKey', `tlsKey ${tlsKey} does not belong to the certificate ${tlsCert}: ${fault}`)
    else return { cert, key, minVersion: 'TLSv1.2' }
  }
  const more = problems.length === 1 ? '' : ` (and ${problems.length - 1} more)`
  throw new ServerError('ERR_CONFIG', `${problems[0].message}${more}`, { problems })
}

/** Returns the reason why Node cannot use the files, or undefined if it can. */
function faultOf(parts: { readonly cert?: Buffer; readonly key?: Buffer }): string | undefined {
  try {
    createSecureContext(parts)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}
