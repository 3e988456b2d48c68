// The table of backends: where the service keeps counters, policies, keys and the audit log. Each entry reads its own addresses.
// `databases.ts` and `storage.ts` open them.

import { resolve } from 'node:path'

/** The address of the store. */
export type StoreAddress =
  | { readonly kind: 'memory' }
  /** One URL is a server, several URLs are nodes of a cluster. */
  | { readonly kind: 'redis'; readonly urls: readonly string[] }
  /** URLs of the sentinels (redis:// or rediss://), and the name of the group that they watch. */
  | { readonly kind: 'redis-sentinel'; readonly urls: readonly string[]; readonly service: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }

/** The backends, as status and metrics name them. */
export const BACKEND_KINDS = ['memory', 'redis', 'postgres', 'sqlite'] as const

export type BackendKind = (typeof BACKEND_KINDS)[number]

export interface BackendFacts {
  /** Its name in messages. */
  readonly title: string
  /** The addresses that it accepts, for people. */
  readonly form: string
  /** Returns undefined if the text is not an address of this backend. */
  readonly read: (text: string) => StoreAddress | undefined
}

export const BACKENDS: Readonly<Record<BackendKind, BackendFacts>> = {
  memory: {
    title: 'the data folder',
    form: "'memory:' (counters in memory, the rest in the data folder)",
    read: (text) => (text === 'memory:' || text === 'memory' ? { kind: 'memory' } : undefined),
  },
  redis: {
    title: 'Redis',
    form: "'redis://host:6379', 'rediss://…' for TLS, several with commas between them for a cluster, 'redis-sentinel://host:26379/name'",
    read: readRedis,
  },
  postgres: {
    title: 'PostgreSQL',
    form: "'postgres://user:password@host:5432/database'",
    read: readPostgres,
  },
  sqlite: {
    title: 'SQLite',
    form: "'sqlite:path/of/a/file.db'",
    read: readSqlite,
  },
}

export const STORE_FORM = BACKEND_KINDS.map((kind) => BACKENDS[kind].form).join(', or ')

/** Returns undefined if the text is not valid. */
export function readStore(text: string): StoreAddress | undefined {
  for (const kind of BACKEND_KINDS) {
    const address = BACKENDS[kind].read(text)
    if (address !== undefined) return address
  }
  return undefined
}

export function backendOf({ kind }: StoreAddress): BackendKind {
  return kind === 'redis-sentinel' ? 'redis' : kind
}

const SENTINEL = '-sentinel:'

function readRedis(text: string): StoreAddress | undefined {
  const urls = text.split(',').map((part) => part.trim())
  if (!urls.every((url) => URL.canParse(url) && new URL(url).hostname !== '')) return undefined
  const protocols = new Set(urls.map((url) => new URL(url).protocol))
  const [protocol] = protocols
  if (protocols.size !== 1 || !/^rediss?(-sentinel)?:$/.test(protocol)) return undefined
  if (!protocol.endsWith(SENTINEL)) return { kind: 'redis', urls }
  const services = new Set(urls.map((url) => decodeURIComponent(new URL(url).pathname.slice(1))))
  const [service] = services
  if (services.size !== 1 || service === '') return undefined
  const sentinels = urls.map((url) => url.replace(SENTINEL, ':').replace(/(\/\/[^/]*)\/.*$/, '$1'))
  return { kind: 'redis-sentinel', urls: sentinels, service }
}

/** Accepts a host, or a path of a socket folder in the parameter `host`. */
function readPostgres(text: string): StoreAddress | undefined {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return undefined
  const { username, password, pathname, searchParams, hostname } = new URL(text)
  if ((hostname === '' && !searchParams.has('host')) || hostname.includes(',')) return undefined
  return [username, password, pathname].every(isDecodable) ? { kind: 'postgres', url: text } : undefined
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/** A database in memory is not accepted, because connections would not share it. */
function readSqlite(text: string): StoreAddress | undefined {
  const [, path = ''] = /^sqlite:(?:\/\/(?=\/))?(.*)$/s.exec(text) ?? []
  const isPath = path !== '' && !path.startsWith('//') && !path.startsWith(':memory:') && !path.includes('\0')
  return isPath ? { kind: 'sqlite', path } : undefined
}

/** Replaces passwords by asterisks. */
export function hidePasswords(text: string): string {
  // A password may contain a comma here, because the address is one URL. The slashes may be missing by mistake.
  const isOne = /^postgres(ql)?:/.test(text)
  const shown = isOne
    ? text.replace(/^(\w+:(?:\/\/)?[^/:@]*):.*@/s, '$1:***@')
    : text.replace(/((?:\/\/|(?:^|,)\w+:)[^/:@,]*):[^@,]*@/g, '$1:***@')
  return shown.replace(/([?&](?:ssl)?password=)[^&,]*/gi, '$1***')
}

/** Returns the address without passwords. It identifies the database that a copy belongs to. */
export function showStore(address: StoreAddress): string {
  switch (address.kind) {
    case 'memory':
      return 'memory:'
    case 'postgres':
      return hidePasswords(address.url)
    case 'sqlite':
      return `sqlite:${resolve(address.path)}`
    default:
      return hidePasswords([...address.urls, address.kind === 'redis-sentinel' ? address.service : ''].join())
  }
}
