// The text of an API key: `sluice_<id>_<secret>_<checksum>`. The id finds the key and the secret proves it. The checksum lets
// scanners for leaked secrets, and this service, recognise a real key without a lookup.

import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const ID_LENGTH = 12

/** 32 random bytes take 43 digits in base 62; a checksum of 32 bits takes 6. */
const SECRET_BYTES = 32
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6

const SHAPE = new RegExp(`^(sluice_([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH}})_([0-9A-Za-z]{${CHECKSUM_LENGTH}})$`)

const LONGEST = 'sluice___'.length + ID_LENGTH + SECRET_LENGTH + CHECKSUM_LENGTH

export interface KeyText {
  readonly id: string
  readonly text: string
}

/** Creates a random key. */
export function makeKeyText(): KeyText {
  // 9 bytes give at most 13 digits. The last 12 are random as well.
  const id = base62(randomBytes(9), ID_LENGTH).slice(-ID_LENGTH)
  const body = `sluice_${id}_${base62(randomBytes(SECRET_BYTES), SECRET_LENGTH)}`
  return { id, text: `${body}_${checksumOf(body)}` }
}

/** Returns the id if the text has the form of a key. */
export function idOfKeyText(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length !== LONGEST) return undefined
  const parts = SHAPE.exec(text)
  if (parts === null) return undefined
  const [, body, id, checksum] = parts
  return checksumOf(body) === checksum ? id : undefined
}

/** The stored form of a secret. A secret has 256 random bits, so it cannot be guessed from its hash. */
export function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

function checksumOf(body: string): string {
  let rest = crc32(body)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[rest % 62] + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

function base62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let digits = ''
  for (; rest > 0n; rest /= 62n) digits = ALPHABET[Number(rest % 62n)] + digits
  return digits.padStart(length, '0')
}
