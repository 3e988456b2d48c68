// Seals the text of a hold token for one API key.
// Invariant: only an instance that knows the digest of the key can read or make a token, besides the owner of the key. So nobody learns
// the id of another key's hold, and without it no token that somebody makes up ends a hold.

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

/** The version is the first part of a token, so that another form can replace this one. */
const VERSION = 'hold1'

const SHAPE = /^hold1_([0-9A-Za-z]{1,32})_([A-Za-z0-9_-]+)$/

const SALT_BYTES = 16
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

/** A key seals one token, so the nonce need not differ. */
const NONCE = Buffer.alloc(12)

/** Seals `text` for the key with this id and digest. */
export function sealHold(keyId: string, digest: Buffer, text: string): string {
  const salt = randomBytes(SALT_BYTES)
  const cipher = createCipheriv(CIPHER, keyOf(digest, salt), NONCE).setAAD(Buffer.from(keyId))
  const sealed = Buffer.concat([salt, cipher.update(text, 'utf8'), cipher.final()])
  return `${VERSION}_${keyId}_${Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url')}`
}

/** Returns the id of the key that a token is sealed for; undefined if it is not a token. */
export function keyIdOfHold(token: string): string | undefined {
  return SHAPE.exec(token)?.[1]
}

/** Returns the text of a token; undefined if it was changed, or sealed for another key. */
export function unsealHold(token: string, digest: Buffer): string | undefined {
  const [, keyId = '', written = ''] = SHAPE.exec(token) ?? []
  const bytes = Buffer.from(written, 'base64url')
  // Other spellings of the same bytes are refused, so that a hold has one token.
  if (bytes.length <= SALT_BYTES + TAG_BYTES || bytes.toString('base64url') !== written) return undefined
  const key = keyOf(digest, bytes.subarray(0, SALT_BYTES))
  const decipher = createDecipheriv(CIPHER, key, NONCE, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(keyId))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(SALT_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/** Derives the key of one token. Each token has a salt of its own. */
function keyOf(digest: Buffer, salt: Buffer): Buffer {
  return createHmac('sha256', digest).update(VERSION).update(salt).digest()
}
