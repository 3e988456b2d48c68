// Schemas of requests and responses about API keys, and about sessions of the dashboard, which stand for a key.

import Type from 'typebox'
import { MaybeTime, named, strict, Time, text } from './schemas.ts'

export const ScopeName = Type.Enum(['check', 'read', 'admin'])

export const KeyView = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    scopes: Type.Array(ScopeName),
    created_at: Time,
    expires_at: MaybeTime,
    revoked_at: MaybeTime,
    last_used_at: MaybeTime,
  },
  named('Key'),
)

const ExpiresAt = Type.String({
  title: 'a time such as 2027-01-31T00:00:00Z',
  pattern: '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?Z$',
})

export const NewKey = Type.Object(
  {
    name: Type.String(text(64)),
    scopes: Type.Array(ScopeName, { title: 'a list of check, read and admin', minItems: 1, maxItems: 3 }),
    expires_at: Type.Optional(ExpiresAt),
  },
  { ...strict, ...named('NewKey') },
)

export const Rotation = Type.Object(
  {
    grace_in_second: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'Seconds for which the replaced key stays valid.' }),
    ),
    expires_at: Type.Optional(ExpiresAt),
  },
  { ...strict, ...named('Rotation') },
)

export const KeyWithSecret = Type.Object(
  { key: KeyView, secret: Type.String({ description: 'Shown only once, and not stored.' }) },
  named('KeyWithSecret'),
)

export const KeyList = Type.Object({ keys: Type.Array(KeyView) }, named('KeyList'))

/** Keys are named by their ids. */
export const KeyPath = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) }, strict)

export const RevokeQuery = Type.Object(
  {
    force: Type.Optional(
      Type.Enum(['true', 'false'], { description: 'true: revokes the key even if no other key has the scope `admin`.' }),
    ),
  },
  strict,
)

const SessionKey = Type.Object({ id: Type.String(), name: Type.String(), scopes: Type.Array(ScopeName) }, named('SessionKey'))

export const SessionView = Type.Object(
  {
    key: Type.Union([SessionKey, Type.Null()], { description: 'The key of the session; null if nobody is signed in.' }),
    keys_required: Type.Boolean({ description: 'True if users must sign in.' }),
  },
  named('Session'),
)
