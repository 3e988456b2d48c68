import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { fakeClock } from 'sluice/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { keyDesk } from '../../test/test-desk.ts'
import { Journal } from '../backends/folder/journal.ts'
import type { Change, Records } from '../records.ts'
import { KeyRing, mayUse } from './key-ring.ts'
import { digestOf, idOfKeyText, makeKeyText } from './key-text.ts'

async function ringIn(folder: string, clock = fakeClock()) {
  const journal = await Journal.open(folder)
  const ring = new KeyRing(journal, clock.now)
  const desk = keyDesk(journal, ring)
  const close = async (): Promise<void> => {
    await desk.close()
    await journal.close()
  }
  onTestFinished(() => close().catch(() => {}))
  return { ring, desk, journal, clock, close }
}

const check = { name: 'shop', scopes: ['check' as const] }

/** Returns a well-formed key text with the id of one key, the secret of another, and the right checksum. */
function withSecretOf(text: string, other: string): string {
  const body = `${text.slice(0, 20)}${other.slice(20, 63)}`
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const checksum = Array.from({ length: 6 }, (_, i) => digits[Math.floor(crc32(body) / 62 ** (5 - i)) % 62])
  return `${body}_${checksum.join('')}`
}

describe('the text of a key', () => {
  test('has an id, a secret of 256 bits and a checksum, and is unique', () => {
    const texts = Array.from({ length: 1000 }, makeKeyText)
    for (const { id, text } of texts) {
      expect(text).toMatch(/^sluice_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/)
      expect(idOfKeyText(text)).toBe(id)
    }
    expect(new Set(texts.map(({ id }) => id)).size).toBe(1000)
    // Every digit of the secret takes every value, except the first, which has less than six bits.
    for (let at = 1; at < 43; at++) expect(new Set(texts.map(({ text }) => text[20 + at])).size).toBeGreaterThan(50)
  })

  test('with any one character changed is not a key', () => {
    const { text } = makeKeyText()
    for (let i = 0; i < text.length; i++) {
      const other = text[i] === 'a' ? 'b' : 'a'
      expect(idOfKeyText(text.slice(0, i) + other + text.slice(i + 1))).toBeUndefined()
    }
  })

  test.each([undefined, null, 5, '', 'sluice', ['x'], {}, 'x'.repeat(1e6), `${'sluice_'.repeat(1e5)}`])('is not %s', (text) => {
    expect(idOfKeyText(text)).toBeUndefined()
  })
})

describe('a key', () => {
  test('verifies with its secret, and with no other', async () => {
    const { ring, desk } = await ringIn(temporaryFolder())
    const { key, secret } = await desk.create(check)
    expect(ring.verify(secret)).toMatchObject({ id: key.id, name: 'shop', scopes: ['check'] })
    const forged = withSecretOf(secret, makeKeyText().text)
    expect(idOfKeyText(forged)).toBe(key.id)
    expect(ring.verify(forged)).toBeUndefined()
    const other = await desk.create({ name: 'other', scopes: ['check'] })
    expect(ring.verify(other.secret)?.id).toBe(other.key.id)
    expect(ring.verify(makeKeyText().text)).toBeUndefined()
    for (const text of [undefined, '', `${secret} `, secret.slice(0, -1), ` ${secret}`]) expect(ring.verify(text)).toBeUndefined()
  })

  test('is stored only as a digest, and survives a restart', async () => {
    const folder = temporaryFolder()
    const first = await ringIn(folder)
    const { key, secret } = await first.desk.create({ ...check, expiresAt: first.clock.now() + 1000 })
    first.ring.verify(secret)
    await first.close()
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
    expect(files.join()).toContain(digestOf(secret).toString('hex'))
    expect(files.join()).not.toContain(secret.slice(20, 63))
    const { ring } = await ringIn(folder)
    expect(ring.verify(secret)).toMatchObject({ ...key, lastUsedAt: first.clock.now() })
    expect(ring.unread).toEqual([])
  })

  test('does not verify from the moment it expires', async () => {
    const { ring, desk, clock } = await ringIn(temporaryFolder())
    const { secret } = await desk.create({ ...check, expiresAt: clock.now() + 1000 })
    clock.advance(999)
    expect(ring.verify(secret)).toBeDefined()
    clock.advance(1)
    expect(ring.verify(secret)).toBeUndefined()
  })

  test('does not verify from the moment it is revoked, nor after a restart', async () => {
    const folder = temporaryFolder()
    const { ring, desk, clock, close } = await ringIn(folder)
    const { key, secret } = await desk.create(check)
    const revoked = desk.revoke(key.id)
    expect(ring.verify(secret)).toBeUndefined()
    expect(await revoked).toMatchObject({ id: key.id, revokedAt: clock.now() })
    clock.advance(5)
    expect(await desk.revoke(key.id)).toMatchObject({ revokedAt: clock.now() - 5 })
    await close()
    const again = await ringIn(folder)
    expect(again.ring.verify(secret)).toBeUndefined()
    expect(again.ring.get(key.id)?.revokedAt).toBeDefined()
  })

  test('stores its time of last use once a minute', async () => {
    const folder = temporaryFolder()
    const { ring, desk, clock, journal } = await ringIn(folder)
    const { key, secret } = await desk.create(check)
    expect(ring.get(key.id)?.lastUsedAt).toBeUndefined()
    clock.advance(70)
    ring.verify(secret)
    expect(ring.get(key.id)?.lastUsedAt).toBe(clock.now())
    await desk.changes.saveUse()
    expect(journal.all('key').get(key.id)).toMatchObject({ lastUsedAt: clock.now() })
  })

  test('needs a unique name, existing scopes and a future expiry', async () => {
    const { ring, desk, clock } = await ringIn(temporaryFolder())
    const wrong = [
      {},
      { name: '', scopes: ['check'] },
      { name: 'a\nb', scopes: ['check'] },
      { name: 'a', scopes: [] },
      { name: 'a', scopes: ['write'] },
      { name: 'a', scopes: ['check'], expiresAt: clock.now() },
      { name: 'a', scopes: ['check'], expires: 5 },
    ]
    for (const options of wrong) await expect(desk.create(options as never)).rejects.toMatchObject({ code: 'ERR_INPUT' })
    await desk.create({ name: 'a', scopes: ['check', 'check', 'read'] })
    await expect(desk.create({ name: 'a', scopes: ['check'] })).rejects.toMatchObject({ code: 'ERR_KEY_TAKEN' })
    expect(ring.list()).toMatchObject([{ name: 'a', scopes: ['check', 'read'] }])
  })

  test('of two that are created at once with one name, one is created', async () => {
    const { ring, desk } = await ringIn(temporaryFolder())
    const made = await Promise.allSettled([desk.create(check), desk.create(check)])
    expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(ring.list()).toHaveLength(1)
  })

  test('can reuse the name of a revoked or expired key; the list is newest first', async () => {
    const { ring, desk, clock } = await ringIn(temporaryFolder())
    const first = await desk.create(check)
    await desk.revoke(first.key.id)
    clock.advance(1)
    const second = await desk.create({ ...check, expiresAt: clock.now() + 10 })
    clock.advance(10)
    const third = await desk.create(check)
    expect(ring.list().map(({ id }) => id)).toEqual([third.key.id, second.key.id, first.key.id])
  })
})

describe('rotation', () => {
  test('creates a second key with the same name and scopes; both verify until the first is revoked', async () => {
    const clock = fakeClock()
    const { ring, desk } = await ringIn(temporaryFolder(), clock)
    const first = await desk.create({ name: 'shop', scopes: ['read', 'check'] })
    const second = await desk.rotate(first.key.id)
    expect(second.key).toMatchObject({ name: 'shop', scopes: ['read', 'check'] })
    expect([ring.verify(first.secret)?.id, ring.verify(second.secret)?.id]).toEqual([first.key.id, second.key.id])
    await expect(desk.rotate(first.key.id)).rejects.toMatchObject({ code: 'ERR_KEY_TAKEN' })
    await expect(desk.create(check)).rejects.toMatchObject({ code: 'ERR_KEY_TAKEN' })
    await desk.revoke(first.key.id)
    expect(ring.verify(first.secret)).toBeUndefined()
    await expect(desk.rotate(first.key.id)).rejects.toMatchObject({ code: 'ERR_KEY_UNKNOWN' })
    const expiresAt = clock.now() + 60_000
    expect((await desk.rotate(second.key.id, { expiresAt })).key).toMatchObject({ name: 'shop', expiresAt })
  })

  test('with a grace period ends the first key by itself, never later than its own expiry, also after a restart', async () => {
    const folder = temporaryFolder()
    const { ring, desk, clock, close } = await ringIn(folder)
    const first = await desk.create({ ...check, expiresAt: clock.now() + 5000 })
    const second = await desk.rotate(first.key.id, { graceMs: 1000 })
    expect(ring.get(first.key.id)?.expiresAt).toBe(clock.now() + 1000)
    expect(ring.verify(first.secret)).toBeDefined()
    await close()
    const again = await ringIn(folder, clock)
    clock.advance(1000)
    expect(again.ring.verify(first.secret)).toBeUndefined()
    expect(again.ring.verify(second.secret)).toBeDefined()
    const third = await again.desk.create({ name: 'x', scopes: ['read'], expiresAt: clock.now() + 10 })
    await again.desk.rotate(third.key.id, { graceMs: 60_000 })
    expect(again.ring.get(third.key.id)?.expiresAt).toBe(clock.now() + 10)
  })

  test('that runs while the key is revoked does not make the key valid again', async () => {
    const folder = temporaryFolder()
    const { ring, desk, close } = await ringIn(folder)
    const { key, secret } = await desk.create(check)
    const rotated = desk.rotate(key.id, { graceMs: 60_000 })
    await Promise.resolve()
    const revoked = desk.revoke(key.id)
    const second = await rotated
    expect(ring.verify(secret)).toBeUndefined()
    await revoked
    expect(ring.verify(secret)).toBeUndefined()
    await close()
    const again = await ringIn(folder)
    expect(again.ring.verify(secret)).toBeUndefined()
    expect(again.ring.verify(second.secret)).toBeDefined()
  })

  test('of an unknown key, or with an invalid grace period, is refused', async () => {
    const { desk } = await ringIn(temporaryFolder())
    await expect(desk.rotate('nobody')).rejects.toMatchObject({ code: 'ERR_KEY_UNKNOWN' })
    await expect(desk.revoke('nobody')).rejects.toMatchObject({ code: 'ERR_KEY_UNKNOWN' })
    const { key } = await desk.create(check)
    for (const graceMs of [-1, 0.5, Number.NaN]) {
      await expect(desk.rotate(key.id, { graceMs })).rejects.toMatchObject({ code: 'ERR_INPUT' })
    }
  })
})

test('a key whose commit failed does not exist; a key whose revocation could not be committed does not verify here', async () => {
  let isOurs = true
  const journal = await Journal.open(temporaryFolder(), { isOurs: async () => isOurs })
  const ring = new KeyRing(journal)
  const desk = keyDesk(journal, ring)
  const { key, secret } = await desk.create(check)
  isOurs = false
  await expect(desk.create({ name: 'b', scopes: ['check'] })).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
  expect(ring.list()).toHaveLength(1)
  await expect(desk.revoke(key.id)).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
  expect(ring.verify(secret)).toBeUndefined()
  expect(journal.all('key').get(key.id)).not.toHaveProperty('revokedAt')
  isOurs = true
  await desk.revoke(key.id)
  expect(journal.all('key').get(key.id)).toHaveProperty('revokedAt')
  await desk.close()
  await journal.close()
})

test('a key that cannot be read does not verify, and is reported', async () => {
  const journal = await Journal.open(temporaryFolder())
  await journal.commit([{ kind: 'key', id: 'a', value: { name: 'x' } }])
  const ring = new KeyRing(journal)
  expect(ring.unread).toMatchObject([{ id: 'a' }])
  expect(ring.list()).toEqual([])
  await ring.close()
  await journal.close()
})

test('an admin may do everything, others only what their scopes allow', async () => {
  const { desk } = await ringIn(temporaryFolder())
  const { key: admin } = await desk.create({ name: 'a', scopes: ['admin'] })
  const { key: reader } = await desk.create({ name: 'r', scopes: ['read'] })
  expect((['check', 'read', 'admin'] as const).map((scope) => mayUse(admin, scope))).toEqual([true, true, true])
  expect((['check', 'read', 'admin'] as const).map((scope) => mayUse(reader, scope))).toEqual([false, true, false])
})

test('a key whose revocation could not be committed stays refused when another instance stores its last use', async () => {
  const { desk: maker, journal } = await ringIn(temporaryFolder())
  const { key, secret } = await maker.create(check)
  let tell = (_change: Change): void => {}
  const records: Records = {
    all: (kind) => journal.all(kind),
    commit: () => Promise.reject(new Error('it cannot be kept now')),
    watch: (listener) => {
      tell = listener
      return () => {}
    },
    close: async () => {},
  }
  const ring = new KeyRing(records)
  const desk = keyDesk(records, ring)
  onTestFinished(() => desk.close().catch(() => {}))
  await expect(desk.revoke(key.id)).rejects.toThrow('it cannot be kept now')
  const kept = journal.all('key').get(key.id) as object
  tell({ kind: 'key', id: key.id, value: { ...kept, lastUsedAt: 5 } })
  expect(ring.verify(secret)).toBeUndefined()
})

test('a key of another instance that cannot be read is reported and refused', async () => {
  const { desk: maker, journal } = await ringIn(temporaryFolder())
  const { key, secret } = await maker.create(check)
  let tell = (_change: Change): void => {}
  const unread: string[] = []
  const records = { all: () => journal.all('key'), commit: async () => {}, close: async () => {} }
  const watch = (listener: typeof tell) => {
    tell = listener
    return () => {}
  }
  const ring = new KeyRing({ ...records, watch }, Date.now, ({ id }) => unread.push(id))
  onTestFinished(() => ring.close())
  expect(ring.verify(secret)?.id).toBe(key.id)
  tell({ kind: 'key', id: key.id, value: { name: 'of a later version' } })
  expect(ring.verify(secret)).toBeUndefined()
  expect([unread, ring.unread.map(({ id }) => id)]).toEqual([[key.id], [key.id]])
  tell({ kind: 'key', id: key.id, value: undefined })
  expect(ring.unread).toEqual([])
})
