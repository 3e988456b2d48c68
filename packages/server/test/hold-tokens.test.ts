// Hold tokens: nobody can change one, make one up, or use one of another API key. Every refused token changes nothing.

import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { LIMITS } from '../src/contract/limits.ts'
import { keyIdOfHold, sealHold, unsealHold } from '../src/keys/hold-seal.ts'
import { startService } from './running-service.ts'

const BUDGET = { client: '*', route: '/a*', rules: { algorithm: 'fixed-window', limit: 100, window: '1h', name: 'tokens' } }

async function setUp() {
  const service = await startService()
  const { call } = service
  await call('PUT', '/v1/policies/own', BUDGET)
  const reserve = async (client_id = 'ada', headers: Record<string, string> = {}) =>
    (await call('POST', '/v1/reserve', { client_id, route: '/a', hold: 40 }, headers)).body.data.token as string
  const settle = (token: unknown, headers: Record<string, string> = {}) => call('POST', '/v1/settle', { token, used: 1 }, headers)
  const used = async (client = 'ada') =>
    (await call('GET', `/v1/usage?client_id=${client}&route=/a`)).body.data.rules[0].used as number
  const makeKey = async (name: string) =>
    (await call('POST', '/v1/keys', { name, scopes: ['check'] })).body.data as { key: { id: string }; secret: string }
  return { ...service, reserve, settle, used, makeKey }
}

/** Returns the texts that differ from `text` in one character. */
function* changedAtEveryCharacter(text: string): Generator<string> {
  for (let i = 0; i < text.length; i++) {
    const other = text[i] === 'A' ? 'B' : 'A'
    yield text.slice(0, i) + other + text.slice(i + 1)
  }
}

const digest = Buffer.alloc(32, 7)

describe('the seal', () => {
  test('leads back to its text, and never seals alike twice', () => {
    const token = sealHold('key1', digest, 'text ✓')
    expect(keyIdOfHold(token)).toBe('key1')
    expect(unsealHold(token, digest)).toBe('text ✓')
    expect(sealHold('key1', digest, 'text ✓')).not.toBe(token)
  })

  test('does not open for another digest, after any change, or cut at any place', () => {
    const token = sealHold('key1', digest, JSON.stringify(['ada', '/a', '', '-[1,2]']))
    expect(unsealHold(token, Buffer.alloc(32, 8))).toBeUndefined()
    for (const changed of changedAtEveryCharacter(token)) expect(unsealHold(changed, digest), changed).toBeUndefined()
    for (let i = 0; i < token.length; i++) expect(unsealHold(token.slice(0, i), digest)).toBeUndefined()
    for (const longer of [`${token}A`, `${token}=`, ` ${token}`, `${token}\n`, token + token]) {
      expect(unsealHold(longer, digest)).toBeUndefined()
    }
  })

  test('another spelling of the same bytes does not open', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    for (const text of ['text', 'text1', 'text12']) {
      const token = sealHold('key1', digest, text)
      // The lowest bit of the last character is not part of the bytes, unless their number is a multiple of three.
      const last = alphabet[alphabet.indexOf(token.at(-1) ?? '') ^ 1]
      expect(unsealHold(token.slice(0, -1) + last, digest)).toBeUndefined()
    }
  })

  test('every bit of the bytes is covered', () => {
    const token = sealHold('key1', digest, 'text')
    const [, , written] = token.split('_')
    const bytes = Buffer.from(written ?? '', 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] ^= 1 << (bit & 7)
      expect(unsealHold(`hold1_key1_${flipped.toString('base64url')}`, digest)).toBeUndefined()
    }
  })

  test('a text as long as a body allows is refused quickly', () => {
    const startMs = performance.now()
    expect(unsealHold(`hold1_key1_${'A'.repeat(2 ** 20)}`, digest)).toBeUndefined()
    expect(performance.now() - startMs).toBeLessThan(1000)
  })
})

describe('over HTTP', () => {
  test('changed and cut tokens are refused, and the hold stays open', async () => {
    const { reserve, settle, used } = await setUp()
    const token = await reserve()
    const [prefix, keyId = '', ...rest] = token.split('_')
    const sealed = rest.join('_')
    const hostile = [
      token.slice(0, -1),
      token.slice(0, 20),
      `${token}A`,
      `${prefix}_${keyId}_`,
      `${prefix}_${keyId}_${sealed.slice(4)}`,
      `hold2_${keyId}_${sealed}`,
      `${prefix}_${'0'.repeat(12)}_${sealed}`,
      `${prefix}_anybody_${sealed}`,
      sealHold(keyId, Buffer.alloc(32), JSON.stringify(['ada', '/a', '', ''])),
      sealHold('anybody', Buffer.alloc(32), JSON.stringify(['ada', '/a', '', ''])),
      '__proto__',
      'x',
      '\u0000',
    ]
    const some = [...changedAtEveryCharacter(token)].filter((_, i) => i % 7 === 0 || i < 20)
    for (const each of [...hostile, ...some]) {
      const { status, body } = await settle(each)
      expect([status, body.meta.error], each).toEqual([400, 'ERR_HOLD_TOKEN'])
    }
    for (const each of ['', 5, null, [], {}, ['x']]) expect((await settle(each)).body.meta.error).toBe('ERR_INPUT')
    expect(await used()).toBe(40)
    expect((await settle(token)).status).toBe(200)
  })

  test('a token of 1 MB is refused before it is read, and one at the bound is refused as a token', async () => {
    const { settle } = await setUp()
    expect((await settle('A'.repeat(2 ** 20))).body.meta.error).toBe('ERR_TOO_LARGE')
    expect((await settle('A'.repeat(LIMITS.longestToken + 1))).body.meta.error).toBe('ERR_INPUT')
    expect((await settle(`hold1_x_${'A'.repeat(LIMITS.longestToken - 8)}`)).body.meta.error).toBe('ERR_HOLD_TOKEN')
  })

  test('the token of the longest client, route and attribute fits', async () => {
    const { call, settle } = await setUp()
    const rules = Array.from({ length: 16 }, (_, i) => ({
      ...BUDGET.rules,
      limit: 2 ** 40,
      name: `${'r'.repeat(60)}-${i}`,
    }))
    await call('PUT', '/v1/policies/long', { client: '\u0fff*', rules })
    for (const sign of ['\u0001', '\u0fff', '"', '\\', '🦉']) {
      const client_id = `\u0fff${sign.repeat(256)}`.slice(0, sign.length === 2 ? 255 : 256)
      const route = sign.repeat(2048 / sign.length)
      const attributes = { org: sign.repeat(256 / sign.length) }
      const { body } = await call('POST', '/v1/reserve', { client_id, route, attributes, hold: 2 ** 40 })
      expect(body.data?.status, JSON.stringify(body.meta)).toBe('Allow')
      expect(body.data.token.length).toBeLessThanOrEqual(LIMITS.longestToken)
      expect((await settle(body.data.token)).body.data?.client_id).toBe(client_id)
    }
  })

  test('another API key cannot use a token, nor make one of what it has read in it', async () => {
    const { call, reserve, settle, used, makeKey } = await setUp()
    const [shop, thief] = [await makeKey('shop'), await makeKey('thief')]
    const token = await reserve('ada', { 'api-key': shop.secret })
    expect((await settle(token, { 'api-key': thief.secret })).body.meta.error).toBe('ERR_HOLD_TOKEN')
    expect((await settle(token)).body.meta.error).toBe('ERR_HOLD_TOKEN')
    const [, , ...rest] = token.split('_')
    const renamed = `hold1_${thief.key.id}_${rest.join('_')}`
    expect((await settle(renamed, { 'api-key': thief.secret })).body.meta.error).toBe('ERR_HOLD_TOKEN')

    // A key's owner can seal any text for itself. Without the id of a hold, it ends nothing.
    const own = createHash('sha256').update(thief.secret).digest()
    const seal = (text: string) => sealHold(thief.key.id, own, text)
    const guess = JSON.stringify([1, 12345, Date.now() + 60_000, [['tokens', 'r3:ada/a', 40]]])
    const guessed = await settle(seal(JSON.stringify(['ada', '/a', {}, `=${guess}`])), { 'api-key': thief.secret })
    expect([guessed.status, guessed.body.meta.error]).toEqual([409, 'ERR_HOLD'])
    for (const text of [
      '',
      'null',
      '[]',
      '[[[[',
      '{}',
      '["ada","/a"]',
      '["ada","/a",{},5]',
      '["ada","/a","",""]',
      '["ada","/a",{"Plan":"x"},""]',
      '["","/a",{},""]',
      '[1,2,3,4]',
    ]) {
      expect((await settle(seal(text), { 'api-key': thief.secret })).body.meta.error, text).toBe('ERR_HOLD_TOKEN')
    }
    for (const held of ['-', '=', 'x', '=[]', '=[1,1,1,[]]', '=[1,1,1,[["tokens","r3:ada/a",0]]]', `=${'['.repeat(5000)}`]) {
      const answer = await settle(seal(JSON.stringify(['ada', '/a', {}, held])), { 'api-key': thief.secret })
      expect([answer.status, answer.body.meta.error], held).toEqual([409, 'ERR_HOLD'])
    }
    expect(await used()).toBe(40)
    expect((await settle(token, { 'api-key': shop.secret })).status).toBe(200)
    expect((await call('GET', '/metrics')).body).not.toMatch(/policy="(?!own|default)/)
  })

  test('a token in which its own owner named a rule twice is refused, and the service goes on', async () => {
    const { reserve, settle, used, key } = await setUp()
    const token = await reserve()
    const sealedBy = createHash('sha256').update(key).digest()
    const [client, route, attributes, held] = JSON.parse(unsealHold(token, sealedBy) ?? '')
    const twice = held.replace(/\[\[(.*)\]\]\]$/, '[[$1],[$1]]]')
    expect(twice.length).toBeGreaterThan(held.length)
    const forged = sealHold(keyIdOfHold(token) ?? '', sealedBy, JSON.stringify([client, route, attributes, twice]))
    expect((await settle(forged)).body.meta).toMatchObject({ code: 409, error: 'ERR_HOLD' })
    expect(await used()).toBe(40)
    expect((await settle(token)).status).toBe(200)
  })

  test('a token whose client was changed by its own owner finds no hold', async () => {
    const { reserve, settle, used, makeKey } = await setUp()
    const shop = await makeKey('shop')
    const token = await reserve('ada', { 'api-key': shop.secret })
    await reserve('bob', { 'api-key': shop.secret })
    const own = createHash('sha256').update(shop.secret).digest()
    const [, route, attributes, held] = JSON.parse(unsealHold(token, own) ?? '')
    const forged = sealHold(shop.key.id, own, JSON.stringify(['bob', route, attributes, held]))
    expect((await settle(forged, { 'api-key': shop.secret })).body.meta.error).toBe('ERR_HOLD')
    expect([await used('ada'), await used('bob')]).toEqual([40, 40])
  })

  test('a key that replaced another by a rotation uses its tokens, also after the first is revoked', async () => {
    const { call, reserve, settle, makeKey } = await setUp()
    const shop = await makeKey('shop')
    const [first, second] = [await reserve('ada', { 'api-key': shop.secret }), await reserve('ada', { 'api-key': shop.secret })]
    const next = (await call('POST', `/v1/keys/${shop.key.id}/rotate`, {})).body.data
    expect((await settle(first, { 'api-key': next.secret })).status).toBe(200)
    await call('DELETE', `/v1/keys/${shop.key.id}`)
    expect((await settle(second, { 'api-key': shop.secret })).status).toBe(401)
    expect((await settle(second, { 'api-key': next.secret })).status).toBe(200)
  })

  test('without required keys a token works, and a damaged one is refused', async () => {
    const { call } = await startService({ flags: { keysRequired: 'false' } })
    const keyless = (path: string, body: object) => call('POST', path, body, { 'api-key': '' })
    const { token } = (await keyless('/v1/reserve', { client_id: 'ada', route: '/a', hold: 40 })).body.data
    expect(token).toMatch(/^hold1_anybody_/)
    expect((await keyless('/v1/settle', { token: token.replace('anybody', 'somebody') })).body.meta.error).toBe('ERR_HOLD_TOKEN')
    expect((await keyless('/v1/settle', { token: `${token.slice(0, -2)}AA` })).body.meta.error).toBe('ERR_HOLD_TOKEN')
    expect((await keyless('/v1/settle', { token })).status).toBe(200)
    expect((await keyless('/v1/settle', { token })).body.meta.error).toBe('ERR_HOLD')
  })

  test('a key without the scope check ends nothing', async () => {
    const { call, reserve, settle } = await setUp()
    const token = await reserve()
    const { secret } = (await call('POST', '/v1/keys', { name: 'reader', scopes: ['read'] })).body.data
    expect((await settle(token, { 'api-key': secret })).body.meta.error).toBe('ERR_FORBIDDEN')
    expect((await settle(token, { 'api-key': '' })).status).toBe(401)
  })
})

describe('the longest tokens', () => {
  test.each([
    ['that the library cannot name', 16],
    ['that no request can carry', 9],
  ])('a hold %s is refused, and nothing is held', async (_, layers) => {
    const { call } = await startService()
    const names = Array.from({ length: 14 }, (_, i) => `a${i}`.padEnd(64, 'n'))
    const rules = Array.from({ length: 16 }, (_, i) => ({
      algorithm: 'fixed-window',
      limit: 9,
      window: '1h',
      name: `${i}`.padEnd(64, 'r'),
    }))
    for (let i = 0; i < layers; i++) {
      await call('PUT', `/v1/policies/${`${i}`.padEnd(64, 'l')}`, { applies: 'always', per: names, rules })
    }
    const attributes = Object.fromEntries(names.map((name, i) => [name, String.fromCharCode(97 + i).repeat(256)]))
    const facts = { client_id: 'ada', route: '/a', attributes }
    const { status, body } = await call('POST', '/v1/reserve', { ...facts, hold: 5 })
    expect([status, body.meta.error, body.meta.message]).toEqual([
      400,
      'ERR_INPUT',
      expect.stringContaining('the token would be too long'),
    ])
    const usage = await call(
      'GET',
      `/v1/usage?client_id=ada&route=/a&attributes=${encodeURIComponent(JSON.stringify(attributes))}`,
    )
    expect(usage.body.data.holds.open).toBe(0)
    expect(new Set(usage.body.data.rules.map(({ used }: { used: number }) => used))).toEqual(new Set([0]))
  })
})
