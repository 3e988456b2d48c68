// Every option of the service, once. Flags, environment, file, help, schema and what `config print` shows are made from this table.

import Type, { type TSchema } from 'typebox'
import {
  hidePasswords,
  isNetwork,
  LISTEN_FORM,
  type ListenAddress,
  PROXY_FORM,
  readListen,
  readStore,
  STORE_FORM,
  type StoreAddress,
} from './addresses.ts'
import { DELAY_FORM, readDelay } from './delay.ts'

/** What the service is told to be. */
export interface Config {
  readonly listen: ListenAddress
  readonly adminListen: ListenAddress | undefined
  readonly dataFolder: string
  readonly store: StoreAddress
  readonly maxKeys: number
  readonly keysRequired: boolean
  readonly insecureAllowUnauthenticated: boolean
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly failureMode: 'local' | 'allow' | 'deny' | 'throw'
  readonly failureTimeoutMs: number
  readonly failureMaxKeys: number
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  readonly trustedProxies: readonly string[]
  /** In milliseconds. */
  readonly drainDelay: number
}

export type OptionName = keyof Config

/** One option: how it is written, what it means, and what it becomes. */
export interface Option {
  readonly about: string
  /** What stands for its value in help. */
  readonly value: string
  /** How it is written in a file. Flags and the environment are text, which is read to this. */
  readonly schema: TSchema
  /** As it would be written, if there is one. */
  readonly default?: unknown
  /** What it becomes; undefined if it cannot be read. As it is written unless given. */
  readonly read?: (written: never) => unknown
  /** Without what must not be seen. */
  readonly show?: (written: string) => string
}

const path = (title: string) => Type.String({ minLength: 1, maxLength: 4096, title })

const listen = Type.String({ title: `an address ${LISTEN_FORM}` })

export const OPTIONS: Readonly<Record<OptionName, Option>> = {
  listen: {
    about: 'Where to listen.',
    value: 'address',
    schema: listen,
    default: '127.0.0.1:8080',
    read: readListen,
  },
  adminListen: {
    about: 'Where administration listens: policies, keys, metrics, dashboard. With all the rest unless given.',
    value: 'address',
    schema: listen,
    read: readListen,
  },
  dataFolder: {
    about: 'Where policies, keys and the audit log are kept.',
    value: 'path',
    schema: path('the path of a folder'),
    default: './sluice-data',
  },
  store: {
    about: 'Where counters live: in memory, or in Redis, for several instances.',
    value: 'url',
    schema: Type.String({ title: STORE_FORM }),
    default: 'memory:',
    read: readStore,
    show: hidePasswords,
  },
  maxKeys: {
    about: 'How many counters the memory store holds at most.',
    value: 'number',
    schema: Type.Integer({ minimum: 1, maximum: 50_000_000 }),
    default: 1_000_000,
  },
  keysRequired: {
    about: 'Whether callers need an API key.',
    value: 'boolean',
    schema: Type.Boolean(),
    default: true,
  },
  insecureAllowUnauthenticated: {
    about: 'Serve an address that others can reach although no API key is required.',
    value: 'boolean',
    schema: Type.Boolean(),
    default: false,
  },
  tlsCert: {
    about: 'The certificate to serve TLS with, in PEM.',
    value: 'file',
    schema: path('the path of a file'),
  },
  tlsKey: {
    about: "The certificate's private key, in PEM.",
    value: 'file',
    schema: path('the path of a file'),
  },
  failureMode: {
    about: 'Who answers when the store does not: counters of this process, everything passes, nothing passes, or nobody.',
    value: 'mode',
    schema: Type.Enum(['local', 'allow', 'deny', 'throw']),
    default: 'local',
  },
  failureTimeoutMs: {
    about: 'How long the store may take before that, in milliseconds.',
    value: 'number',
    schema: Type.Integer({ minimum: 1, maximum: 60_000 }),
    default: 100,
  },
  failureMaxKeys: {
    about: 'How many counters of this process answer at most, in failure mode local.',
    value: 'number',
    // A policy may have 16 rules, each with a counter.
    schema: Type.Integer({ minimum: 16, maximum: 50_000_000 }),
    default: 1_000_000,
  },
  logLevel: {
    about: 'What is worth a line in the log.',
    value: 'level',
    schema: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
  },
  trustedProxies: {
    about: 'Proxies whose forwarded headers are believed: addresses and networks.',
    value: 'list',
    schema: Type.Array(Type.String(), { maxItems: 1000, title: `a list, each ${PROXY_FORM}` }),
    default: [],
    read: (written: readonly string[]) => (written.every(isNetwork) ? written : undefined),
  },
  drainDelay: {
    about: 'At a stop, the time in which requests are still accepted and answered while /readyz says 503.',
    value: 'duration',
    schema: Type.String({ title: DELAY_FORM }),
    default: '250ms',
    read: readDelay,
  },
}

export const OPTION_NAMES = Object.keys(OPTIONS) as readonly OptionName[]

/** `dataFolder` → `--data-folder` */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** `dataFolder` → `SLUICE_DATA_FOLDER` */
export function variableOf(name: string): string {
  return `SLUICE_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}

export interface Flag {
  readonly name: string
  /** As it stands in help: `--data-folder <path>`. */
  readonly usage: string
  readonly about: string
}

/** The option that says where the file is. It cannot stand in the file. */
export const CONFIG_FLAG: Flag = {
  name: 'config',
  usage: '--config <file>',
  about: 'A configuration file, YAML or JSON. Its policies are watched. [SLUICE_CONFIG]',
}

/** Every flag of the service, for the command line and its help. A flag for yes or no may stand without its value. */
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
