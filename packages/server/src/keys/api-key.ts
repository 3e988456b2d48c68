// An API key in its listed form and in its stored form. Neither contains the secret.

import Type, { type Static } from 'typebox'

const Scope = Type.Enum(['check', 'read', 'admin'])

/** `check`: decide and read usage. `read`: read policies, statistics and the audit log. `admin`: everything. */
export type Scope = Static<typeof Scope>

const Name = Type.String({
  title: 'a name of 1 to 64 characters, none of them a control character',
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
})

const Scopes = Type.Array(Scope, { minItems: 1, maxItems: 3, title: 'a list of scopes: check, read, admin' })

/** Milliseconds since the epoch, up to the maximum of Date. */
const Time = Type.Integer({ minimum: 0, maximum: 8.64e15, title: 'a time in milliseconds since the epoch' })

export const NewKeySchema = Type.Object(
  { name: Name, scopes: Scopes, expiresAt: Type.Optional(Time) },
  { additionalProperties: false, title: 'a new API key' },
)

export type NewKeyOptions = Static<typeof NewKeySchema>

/** The stored form of a key. */
export const KeyRecordSchema = Type.Object(
  {
    name: Name,
    scopes: Scopes,
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', title: 'a SHA-256 in hexadecimal' }),
    createdAt: Time,
    expiresAt: Type.Optional(Time),
    revokedAt: Type.Optional(Time),
    lastUsedAt: Type.Optional(Time),
  },
  { additionalProperties: false },
)

export type KeyRecord = Static<typeof KeyRecordSchema>

/** The listed form of a key. Times are in milliseconds since the epoch. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  readonly expiresAt?: number
  readonly revokedAt?: number
  readonly lastUsedAt?: number
}

/** True if the key has the scope. `admin` includes all scopes. */
export function mayUse({ scopes }: ApiKey, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin')
}

export function isValid({ revokedAt, expiresAt }: ApiKey, nowMs: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || nowMs < expiresAt)
}

/** The caller of a service that requires no keys. */
export const ANYBODY: ApiKey = { id: 'anybody', name: 'anybody', scopes: ['admin'], createdAt: 0 }
