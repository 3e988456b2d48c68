// Options of the memcached store, checked.

import type { ConnectionOptions as TlsOptions } from 'node:tls'
import type { Clock } from '../../core/clock.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { type ServerAddress, serverAddress } from './server-address.ts'

export interface MemcachedAuth {
  readonly username: string
  readonly password: string
}

export interface MemcachedStoreOptions {
  /** The servers: `host`, `host:port`, `[IPv6]:port` or `unix:/path`. All processes need the same list, in any order. */
  readonly servers: readonly string[]
  /** Prefix of all keys in memcached. Default: `sluice`. */
  readonly prefix?: string
  /** User name and password, for servers that were started with a file of passwords (`-Y`). */
  readonly auth?: MemcachedAuth
  /** True, or options of `tls.connect`, if the servers speak TLS. Default: false. */
  readonly tls?: boolean | TlsOptions
  /** Time for a connection to open, in ms. Default: 1,000. */
  readonly connectTimeoutMs?: number
  /** Time after which a server without an answer counts as silent, in ms. Its connection is closed then. Default: 1,000. */
  readonly timeoutMs?: number
  /** The most attempts of one call while others change the same key. Default: 16. */
  readonly attempts?: number
  /** The most bytes of one value. Not more than the servers' item size (`-I`) less 1 kB. Default: 1,000,000. */
  readonly maxValueBytes?: number
  /** The most commands for one server that wait or are under way. Default: 10,000. */
  readonly maxCommands?: number
  /** The most bytes for one server that wait in this process. Default: 16 MiB. */
  readonly maxQueuedBytes?: number
  /** A clock instead of the system's. Only for tests: processes with different clocks would decide differently. */
  readonly clock?: Clock
}

/** Whole numbers: default, lowest and highest value of each. */
const NUMBERS = {
  connectTimeoutMs: [1000, 1, 600_000],
  timeoutMs: [1000, 1, 600_000],
  attempts: [16, 1, 1000],
  maxValueBytes: [1_000_000, 64, 128 * 1024 * 1024],
  maxCommands: [10_000, 1, 1_000_000],
  maxQueuedBytes: [16 * 1024 * 1024, 1024, 1024 * 1024 * 1024],
} as const

type Numbers = { readonly [name in keyof typeof NUMBERS]: number }

const OPTIONS = ['servers', 'prefix', 'auth', 'tls', 'clock', ...Object.keys(NUMBERS)]

const MOST_SERVERS = 1000

/** Printable ASCII without spaces. The longest leaves space for the hash of a long name. */
const PREFIX = /^[!-~]{1,100}$/
const USERNAME = /^[!-~]{1,64}$/
const PASSWORD = /^[!-~]{1,256}$/

export interface CheckedOptions extends Numbers {
  readonly addresses: readonly ServerAddress[]
  readonly prefix: string
  readonly auth: MemcachedAuth | undefined
  readonly tls: TlsOptions | undefined
  readonly clock: Clock | undefined
}

/** Returns the options with their defaults. Throws ERR_OPTION if one is wrong. */
export function checkMemcachedOptions(options: MemcachedStoreOptions): CheckedOptions {
  checkOptions('memcachedStore', options, OPTIONS)
  const { prefix = 'sluice', clock } = options
  if (typeof prefix !== 'string' || !PREFIX.test(prefix)) {
    throw optionError('prefix', 'to be 1 to 100 printable ASCII characters without spaces', prefix)
  }
  return {
    addresses: checkServers(options.servers),
    prefix,
    auth: options.auth === undefined ? undefined : checkAuth(options.auth),
    tls: checkTls(options.tls),
    clock,
    ...checkNumbers(options),
  }
}

function checkServers(servers: unknown): readonly ServerAddress[] {
  if (!Array.isArray(servers) || servers.length === 0 || servers.length > MOST_SERVERS) {
    throw optionError('servers', `to be a list of 1 to ${MOST_SERVERS} addresses, such as ['127.0.0.1:11211']`, servers)
  }
  const addresses = servers.map(serverAddress)
  if (new Set(addresses.map(({ name }) => name)).size < addresses.length) {
    throw new SluiceError('ERR_OPTION', 'memcachedStore needs each server once in servers', { option: 'servers', value: servers })
  }
  return addresses
}

/** The values are not shown: they are secret. */
function checkAuth(auth: unknown): MemcachedAuth {
  checkOptions('auth of memcachedStore', auth, ['username', 'password'])
  const { username, password } = auth as Partial<Record<string, unknown>>
  const isText = (value: unknown, pattern: RegExp): value is string => typeof value === 'string' && pattern.test(value)
  if (isText(username, USERNAME) && !username.includes(':') && isText(password, PASSWORD)) return { username, password }
  const message =
    'memcachedStore needs auth to have a username of up to 64 characters without colon, and a password of up to 256, ' +
    'both in printable ASCII without spaces'
  throw new SluiceError('ERR_OPTION', message, { option: 'auth' })
}

function checkTls(tls: unknown): TlsOptions | undefined {
  if (tls === undefined || tls === false) return undefined
  if (tls === true) return {}
  if (typeof tls === 'object' && tls !== null && !Array.isArray(tls)) return tls
  throw optionError('tls', 'to be true, false or options of tls.connect', tls)
}

function checkNumbers(options: MemcachedStoreOptions): Numbers {
  const checked: Record<string, number> = {}
  for (const [name, [byDefault, least, most]] of Object.entries(NUMBERS)) {
    const value = options[name as keyof Numbers] ?? byDefault
    if (!isWhole(value, least, most)) throw optionError(name, `to be a whole number from ${least} to ${most}`, value)
    checked[name] = value
  }
  return checked as Numbers
}

function optionError(option: string, need: string, value: unknown): SluiceError {
  return new SluiceError('ERR_OPTION', `memcachedStore needs ${option} ${need}, got ${show(value)}`, { option, value })
}
