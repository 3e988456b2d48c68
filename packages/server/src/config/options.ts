// The table of options. Flags, environment variables, file, help, schema and `config print` are derived from it.

import Type, { type TSchema } from 'typebox'
import { isNetwork, LISTEN_FORM, type ListenAddress, PROXY_FORM, readListen } from './addresses.ts'
import { AGE_FORM, DELAY_FORM, readAge, readDelay } from './delay.ts'
import { hidePasswords, readStore, STORE_FORM, type StoreAddress } from './store-address.ts'

/** The configuration of the service. */
export interface Config {
  readonly listen: ListenAddress
  readonly adminListen: ListenAddress | undefined
  readonly resp: ListenAddress | undefined
  readonly dataFolder: string
  readonly store: StoreAddress
  readonly maxKeys: number
  readonly maxHolds: number
  readonly keysRequired: boolean
  readonly insecureAllowUnauthenticated: boolean
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly failureMode: 'local' | 'allow' | 'deny' | 'throw'
  readonly failureTimeoutMs: number
  readonly failureMaxKeys: number
  readonly retryWithinMs: number | undefined
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  readonly trustedProxies: readonly string[]
  /** In milliseconds. */
  readonly drainDelay: number
  readonly fastChecks: boolean
  readonly rls: ListenAddress | undefined
  readonly rlsClientCa: string | undefined
  readonly rlsAllOrNothing: boolean
  /** In milliseconds. */
  readonly rlsConnectionAge: number
}

export type OptionName = keyof Config

/** One option: its written form, its meaning, and its parsed value. */
export interface Option {
  readonly about: string
  /** Placeholder for the value in help. */
  readonly value: string
  /** Schema of the value in a file. Flags and variables are text, and are converted to this type. */
  readonly schema: TSchema
  /** The default in its written form. */
  readonly default?: unknown
  /** Parses the written value; returns undefined if it is not valid. Without `read`, the written value is used. */
  readonly read?: (written: never) => unknown
  /** Returns the value without secrets. */
  readonly show?: (written: string) => string
}

const path = (title: string) => Type.String({ minLength: 1, maxLength: 4096, title })

const listen = Type.String({ title: `an address ${LISTEN_FORM}` })

export const OPTIONS: Readonly<Record<OptionName, Option>> = {
  listen: {
    about: 'The address to listen on.',
    value: 'address',
    schema: listen,
    default: '127.0.0.1:8080',
    read: readListen,
  },
  adminListen: {
    about: 'A separate address for administration: policies, keys, metrics, dashboard. By default the main address serves them.',
    value: 'address',
    schema: listen,
    read: readListen,
  },
  resp: {
    about: 'An address for clients of Redis: CL.THROTTLE and SLUICE.CHECK. Off by default.',
    value: 'address',
    schema: listen,
    read: readListen,
  },
  dataFolder: {
    about: 'The folder for policies, keys and the audit log.',
    value: 'path',
    schema: path('the path of a folder'),
    default: './sluice-data',
  },
  store: {
    about: 'The store: memory and the data folder, a SQLite file, or Redis or PostgreSQL for several instances.',
    value: 'url',
    schema: Type.String({ title: STORE_FORM }),
    default: 'memory:',
    read: readStore,
    show: hidePasswords,
  },
  maxKeys: {
    about: 'Maximum number of counters in memory or in a SQLite file.',
    value: 'number',
    schema: Type.Integer({ minimum: 1, maximum: 50_000_000 }),
    default: 1_000_000,
  },
  maxHolds: {
    about: 'Maximum number of open holds of one client under one rule.',
    value: 'number',
    schema: Type.Integer({ minimum: 1, maximum: 10_000 }),
    default: 1000,
  },
  keysRequired: {
    about: 'Require an API key from every caller.',
    value: 'boolean',
    schema: Type.Boolean(),
    default: true,
  },
  insecureAllowUnauthenticated: {
    about: 'Allow an address that others can reach although no API key is required.',
    value: 'boolean',
    schema: Type.Boolean(),
    default: false,
  },
  tlsCert: {
    about: 'The certificate for TLS, in PEM.',
    value: 'file',
    schema: path('the path of a file'),
  },
  tlsKey: {
    about: 'The private key of the certificate, in PEM.',
    value: 'file',
    schema: path('the path of a file'),
  },
  failureMode: {
    about: 'Fallback if the store fails: count in this process (local), allow all, deny all, or answer with an error (throw).',
    value: 'mode',
    schema: Type.Enum(['local', 'allow', 'deny', 'throw']),
    default: 'local',
  },
  failureTimeoutMs: {
    about: 'Time that the store has to answer before the fallback decides, in milliseconds.',
    value: 'number',
    schema: Type.Integer({ minimum: 1, maximum: 60_000 }),
    default: 100,
  },
  failureMaxKeys: {
    about: 'Maximum number of fallback counters in this process, for failure mode local.',
    value: 'number',
    // A policy may have 16 rules, and each needs a counter.
    schema: Type.Integer({ minimum: 16, maximum: 50_000_000 }),
    default: 1_000_000,
  },
  retryWithinMs: {
    about:
      'The longest wait that is worth a retry, in milliseconds. A denial with a longer wait is not retryable. By default each is.',
    value: 'number',
    schema: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  },
  logLevel: {
    about: 'Minimum level of log lines.',
    value: 'level',
    schema: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
  },
  trustedProxies: {
    about: 'Addresses and networks of proxies whose forwarded headers are trusted.',
    value: 'list',
    schema: Type.Array(Type.String(), { maxItems: 1000, title: `a list, each ${PROXY_FORM}` }),
    default: [],
    read: (written: readonly string[]) => (written.every(isNetwork) ? written : undefined),
  },
  drainDelay: {
    about: 'At a stop, the time during which requests are still accepted while /readyz answers 503.',
    value: 'duration',
    schema: Type.String({ title: DELAY_FORM }),
    default: '250ms',
    read: readDelay,
  },
  fastChecks: {
    about: 'Read well-formed checks straight from the socket, without node:http.',
    value: 'boolean',
    schema: Type.Boolean(),
    default: true,
  },
  rls: {
    about: "An address for Envoy's rate limit service (RLS v3, gRPC). By default there is none.",
    value: 'address',
    schema: listen,
    read: readListen,
  },
  rlsClientCa: {
    about:
      'Certificates of the authorities that sign the certificates of RLS clients, in PEM. Clients then need one, and no API key.',
    value: 'file',
    schema: path('the path of a file'),
  },
  rlsAllOrNothing: {
    about: 'Charge no descriptor of an RLS request if one of them is over its limit. By default each is charged by itself.',
    value: 'boolean',
    schema: Type.Boolean(),
    default: false,
  },
  rlsConnectionAge: {
    about: 'Time after which an RLS connection is asked to reconnect, so that load spreads over new instances.',
    value: 'duration',
    schema: Type.String({ title: AGE_FORM }),
    default: '24h',
    read: readAge,
  },
}

export const OPTION_NAMES = Object.keys(OPTIONS) as readonly OptionName[]

/** Returns the addresses to listen on that are set, by the names of their options. */
export function listenAddresses(config: Config): readonly (readonly [OptionName, ListenAddress])[] {
  const names = OPTION_NAMES.filter((name) => OPTIONS[name].read === readListen)
  const entries = names.map((name) => [name, config[name] as ListenAddress | undefined] as const)
  return entries.filter((entry): entry is readonly [OptionName, ListenAddress] => entry[1] !== undefined)
}

/** True if whoever reaches the address of the option must authenticate: by an API key, or by a client certificate. */
export function isAuthenticated(name: OptionName, { keysRequired, rlsClientCa }: Config): boolean {
  return keysRequired || (name === 'rls' && rlsClientCa !== undefined)
}

/** Converts `dataFolder` to `--data-folder`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Converts `dataFolder` to `SLUICE_DATA_FOLDER`. */
export function variableOf(name: string): string {
  return `SLUICE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}

export interface Flag {
  readonly name: string
  /** Form in help: `--data-folder <path>`. */
  readonly usage: string
  readonly about: string
}

/** The path of the configuration file. It cannot be set in that file. */
export const CONFIG_FLAG: Flag = {
  name: 'config',
  usage: '--config <file>',
  about: 'A configuration file, YAML or JSON. Its policies are reloaded when it changes. [SLUICE_CONFIG]',
}

/** Every flag of the service, for the command line and its help. A boolean flag may be given without a value. */
export function flags(): readonly Flag[] {
  const own = OPTION_NAMES.map((name): Flag => {
    const { about, value, schema, default: written } = OPTIONS[name]
    const choices = 'enum' in schema ? ` One of ${(schema.enum as string[]).join(', ')}.` : ''
    const fallback = written === undefined || `${written}` === '' ? '' : `, default ${written}`
    return {
      name,
      usage: `${flagOf(name)} ${value === 'boolean' ? '[true|false]' : `<${value}>`}`,
      about: `${about}${choices} [${variableOf(name)}${fallback}]`,
    }
  })
  return [CONFIG_FLAG, ...own]
}
