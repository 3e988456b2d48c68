// Opens all doors of a service, and keeps their certificates up to date.

import { X509Certificate } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { readTlsFiles } from '../config/tls-files.ts'
import type { Logger } from '../log/logger.ts'
import { closeDoors, type Door, type DoorOptions, type OpenDoors } from './door.ts'
import { openHttp } from './http/listeners.ts'
import { openResp } from './resp/open-resp.ts'
import { openRls } from './rls/open-rls.ts'

/** The doors by protocol, in the order of opening. */
export interface OpenedDoors {
  /** One door for everything, or one for checks and one for administration. */
  readonly http: readonly Door[]
  readonly all: readonly Door[]
}

/** Protocols besides HTTP. Each is off unless it has an address. */
const OTHERS: readonly OpenDoors[] = [openResp, openRls]

/** If one door fails, none stays open. */
export async function openDoors(options: DoorOptions): Promise<OpenedDoors> {
  const http = await openHttp(options)
  const all = [...http]
  try {
    for (const open of OTHERS) all.push(...(await open(options)))
  } catch (error) {
    await closeDoors(all)
    throw error
  }
  return { http, all }
}

/** Uses the certificate for new connections; open connections keep theirs. Returns the error if it cannot be used. */
export async function reloadTls(config: Config, doors: readonly Door[], logger: Logger): Promise<Error | undefined> {
  try {
    const tls = await readTlsFiles(config)
    if (tls === undefined) return undefined
    const { subject, validTo } = new X509Certificate(tls.cert)
    for (const door of doors) door.useTls(tls)
    logger.info({ certificate: config.tlsCert, subject, validTo }, 'the certificate was reloaded')
    return undefined
  } catch (error) {
    logger.error({ err: error, certificate: config.tlsCert }, 'the certificate cannot be used: the previous one stays in use')
    return error as Error
  }
}
