import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ExpiryQueue } from './expiry-queue.ts'
import { type Policy, readPolicy } from './policy.ts'
import { PolicyBook } from './policy-book.ts'

const START = Date.parse('2027-01-15T08:00:00Z')
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString()

function setUp() {
  const time = { now: START }
  const book = new PolicyBook(() => time.now)
  const make = (spec: object, source: 'api' | 'file' = 'api'): Policy => readPolicy({ rules: '5/minute', ...spec }, source)
  const put = (spec: object) => book.put(make(spec))
  const found = () => book.find('ada', '/a').name
  const sleep = (seconds: number): void => {
    time.now += seconds * 1000
  }
  return { book, make, put, found, sleep }
}

describe('an expired policy', () => {
  test('is not in force from its time on, and stays listed until it is deleted', () => {
    const { book, put, found, sleep } = setUp()
    put({ name: 'own', client: 'ada', expires_at: at(60) })
    sleep(59.999)
    expect(found()).toBe('own')
    sleep(0.001)
    expect(found()).toBe('default')
    expect(book.list().policies.map(({ name }) => name)).toEqual(['default', 'own'])
    expect(book.isExpired(book.get('own') as Policy)).toBe(true)
    expect(book.delete('own').name).toBe('own')
    expect(book.get('own')).toBeUndefined()
  })

  test('leaves its patterns to another policy', () => {
    const { book, put, found, sleep } = setUp()
    put({ name: 'first', client: 'ada', expires_at: at(60) })
    expect(() => put({ name: 'second', client: 'ada' })).toThrow(expect.objectContaining({ code: 'ERR_POLICY_TAKEN' }))
    sleep(60)
    put({ name: 'second', client: 'ada' })
    expect(found()).toBe('second')
    expect(book.size).toBe(3)
    expect(() => put({ name: 'first', client: 'ada' })).toThrow(expect.objectContaining({ code: 'ERR_POLICY_TAKEN' }))
    book.delete('first')
    expect(found()).toBe('second')
  })

  test('that is put again with a later time is in force again', () => {
    const { put, found, sleep } = setUp()
    put({ name: 'own', client: 'ada', expires_at: at(60) })
    sleep(60)
    expect(found()).toBe('default')
    put({ name: 'own', client: 'ada', expires_at: at(120) })
    expect(found()).toBe('own')
    sleep(60)
    expect(found()).toBe('default')
  })

  test('called default gives way to the built-in one', () => {
    const { book, put, sleep } = setUp()
    put({ name: 'default', expires_at: at(60) })
    expect(book.find('ada', '/a').source).toBe('api')
    sleep(60)
    expect(book.find('ada', '/a').source).toBe('built-in')
  })

  test('that always applies stops to apply', () => {
    const { book, put, sleep } = setUp()
    put({ name: 'layer', applies: 'always', expires_at: at(60) })
    expect(book.layersFor('ada', '/a')).toHaveLength(1)
    sleep(60)
    expect(book.layersFor('ada', '/a')).toHaveLength(0)
  })

  test('of the file uncovers the policy of the API that it overrode', () => {
    const { book, make, put, found, sleep } = setUp()
    put({ name: 'of-api', client: 'ada' })
    book.replaceFilePolicies([make({ name: 'of-file', client: 'ada', expires_at: at(60) }, 'file')])
    expect([found(), book.hidden.map(({ name }) => name)]).toEqual(['of-file', ['of-api']])
    sleep(60)
    expect([found(), book.hidden]).toEqual(['of-api', []])
    expect(book.list().policies.map(({ name }) => name)).toEqual(['default', 'of-api', 'of-file'])
  })

  test('whose clock differs on another instance is replaced there at its time', () => {
    const { book, make, found, sleep } = setUp()
    // This instance hears of the second policy before its own clock ends the first.
    book.replaceApiPolicies([make({ name: 'first', client: 'ada', expires_at: at(1) }), make({ name: 'second', client: 'ada' })])
    expect(found()).toBe('first')
    sleep(1)
    expect(found()).toBe('second')
  })

  test('is in force again if the clock steps back to before its time', () => {
    const { book, make, put, found, sleep } = setUp()
    book.replaceFilePolicies([make({ name: 'of-file', route: '/a', expires_at: at(90) }, 'file')])
    put({ name: 'block', client: 'ada', applies: 'always', mode: 'deny', expires_at: at(60) })
    put({ name: 'own', client: 'ada', expires_at: at(120) })
    const inForce = () => [found(), ...book.layersFor('ada', '/a').map(({ name }) => name)]
    const forward: string[][] = []
    for (const seconds of [0, 3600, -3600, 60, 0, -1, 1, 60, -60, 30, 3600, -3601]) {
      sleep(seconds)
      forward.push(inForce())
    }
    expect(forward).toEqual([
      ['own', 'block'],
      ['default'],
      ['own', 'block'],
      ['own'],
      ['own'],
      ['own', 'block'],
      ['own'],
      ['default'],
      ['own'],
      ['own'],
      ['default'],
      ['own'],
    ])
    book.delete('own')
    expect(found()).toBe('of-file')
    expect(book.list().policies.map(({ name }) => name)).toEqual(['block', 'default', 'of-file'])
  })

  test('is written with an offset, and never as a day that no calendar has', () => {
    const { make } = setUp()
    expect(make({ name: 'own', client: 'ada', expires_at: '2027-01-15T09:00:00+01:00' }).expiresAtMs).toBe(START)
    for (const expires_at of ['2027-02-30T00:00:00Z', '2027-13-01T00:00:00Z', '2027-01-01T25:00:00Z']) {
      expect(() => make({ name: 'own', client: 'ada', expires_at })).toThrow(/expires_at is no time of the calendar/)
    }
    for (const expires_at of ['tomorrow', '2027-01-01', '2027-01-01T00:00:00', 5]) {
      expect(() => make({ name: 'own', client: 'ada', expires_at })).toThrow(/expires_at must be a time such as/)
    }
  })
})

describe('the queue', () => {
  const policyAt = (seconds: number): Policy =>
    readPolicy({ name: 'p', client: 'a', rules: '1/s', expires_at: at(seconds) }, 'api')

  test('gives policies in the order of their expiry', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { maxLength: 60 }), (seconds) => {
        const queue = new ExpiryQueue(() => true)
        for (const each of seconds) queue.add(policyAt(each))
        const taken: number[] = []
        for (let each = queue.take(Number.MAX_VALUE); each !== undefined; each = queue.take(Number.MAX_VALUE)) {
          taken.push((each.expiresAtMs - START) / 1000)
        }
        expect(taken).toEqual([...seconds].sort((a, b) => a - b))
      }),
    )
  })

  test('is bounded, however often a policy is replaced', () => {
    let current: Policy | undefined
    const queue = new ExpiryQueue((policy) => policy === current)
    let most = 0
    for (let i = 0; i < 20_000; i++) {
      current = policyAt(1000 + i)
      queue.add(current)
      most = Math.max(most, queue.size)
    }
    expect(most).toBeLessThanOrEqual(1003)
    expect(queue.take(Number.MAX_VALUE)).toBe(current)
  })
})
