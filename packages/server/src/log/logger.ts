// The service's log: lines of JSON on standard output, without secrets.

import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config/config.ts'

export type { Logger }

/** Secrets that may appear anywhere in a line: an API key (its id may stay visible), and passwords in a URL. */
const API_KEY = /(sluice_[0-9A-Za-z]{12}_)[0-9A-Za-z]{43}_[0-9A-Za-z]{6}/g
const PASSWORD = /(\/\/[^/:@\s"]*):[^@\s"]+@/g
const PASSWORD_PARAMETER = /([?&](?:ssl)?password=)[^&\s"]+/gi

export function makeLogger(level: Config['logLevel'], destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '***' },
    hooks: { streamWrite: (line: string) => withoutSecrets(line) },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

function withoutSecrets(line: string): string {
  return line.replace(API_KEY, '$1***').replace(PASSWORD, '$1:***@').replace(PASSWORD_PARAMETER, '$1***')
}

const SECRET_NAMES = ['secret', 'password', 'authorization', '["api-key"]']
const REDACTED = SECRET_NAMES.flatMap((name) => {
  const under = (parent: string): string => (name.startsWith('[') ? `${parent}${name}` : `${parent}.${name}`)
  return [name, under('*'), under('headers'), under('*.headers')]
})
