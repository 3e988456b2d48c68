import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { builtInDefault, type Policy, readPolicy } from './policy.ts'
import { PolicyBook } from './policy-book.ts'

const policy = (name: string, client: string, route: string): Policy =>
  readPolicy({ name, client, route, rules: '5/minute' }, 'api')
const ofFile = (name: string, client: string, route: string): Policy =>
  readPolicy({ name, client, route, rules: '5/minute' }, 'file')

function bookOf(...policies: Policy[]): PolicyBook {
  const book = new PolicyBook()
  for (const each of policies) book.put(each)
  return book
}

/** The order of policy-index.ts, in a slow and obvious implementation. */
function slowFind(policies: readonly Policy[], clientId: string, route: string): Policy {
  const fits = (pattern: string, text: string): boolean =>
    pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern
  const isExact = (pattern: string): boolean => !pattern.endsWith('*')
  const rank = ({ client, route }: Policy): number[] => {
    if (isExact(client) && isExact(route)) return [4, 0, 0]
    if (isExact(client)) return [3, route.length, 0]
    if (isExact(route)) return [2, client.length, 0]
    return [1, client.length, route.length]
  }
  const better = (a: number[], b: number[]): number => b[0] - a[0] || b[1] - a[1] || b[2] - a[2]
  return policies
    .filter((each) => fits(each.client, clientId) && fits(each.route, route))
    .sort((a, b) => better(rank(a), rank(b)))[0]
}

describe('the most specific policy wins', () => {
  const both = policy('both', 'acme', '/v1/search')
  const clientLong = policy('client-long', 'acme', '/v1/*')
  const clientShort = policy('client-short', 'acme', '/*')
  const clientAny = policy('client-any', 'acme', '*')
  const routeLong = policy('route-long', 'acm*', '/v1/search')
  const routeShort = policy('route-short', 'a*', '/v1/search')
  const routeAny = policy('route-any', '*', '/v1/search')
  const prefixBoth = policy('prefix-both', 'acm*', '/v1/*')
  const prefixClient = policy('prefix-client', 'acm*', '*')
  const shorterClient = policy('shorter-client', 'a*', '/v1/s*')
  const prefixRoute = policy('prefix-route', '*', '/v1/*')
  const inOrder = [
    both,
    clientLong,
    clientShort,
    clientAny,
    routeLong,
    routeShort,
    routeAny,
    prefixBoth,
    prefixClient,
    shorterClient,
    prefixRoute,
  ]

  test('in this order, down to the default', () => {
    const book = bookOf(...inOrder)
    for (const each of inOrder) {
      expect(book.find('acme', '/v1/search').name).toBe(each.name)
      book.delete(each.name)
    }
    expect(book.find('acme', '/v1/search')).toBe(builtInDefault)
  })

  test('a star matches any number of characters, including none, and is not a character itself', () => {
    const book = bookOf(policy('a', 'acme*', '/v1/*'))
    expect(book.find('acme', '/v1/').name).toBe('a')
    expect(book.find('acme-2', '/v1/x').name).toBe('a')
    expect(book.find('acm', '/v1/x').name).toBe('default')
    expect(book.find('acme', '/v1').name).toBe('default')
  })

  test('any text can be a client or route, even names that objects inherit', () => {
    const book = bookOf(policy('a', '__proto__', '/x'), policy('b', 'con*', '/x'))
    expect(book.find('__proto__', '/x').name).toBe('a')
    expect(book.find('constructor', '/x').name).toBe('b')
    expect(book.find('toString', 'valueOf')).toBe(builtInDefault)
    expect(book.find('*', '*')).toBe(builtInDefault)
  })

  test('equals a slow and obvious model, after any changes', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/'), minLength: 1, maxLength: 4 })
    const pattern = fc.oneof(
      text,
      text.map((start) => `${start}*`),
      fc.constant('*'),
    )
    const change = fc.record({ client: pattern, route: pattern, remove: fc.boolean() })
    const question = fc.record({ clientId: text, route: text })
    fc.assert(
      fc.property(
        fc.array(change, { maxLength: 40 }),
        fc.array(question, { minLength: 1, maxLength: 20 }),
        (changes, questions) => {
          const book = new PolicyBook()
          const model = new Map<string, Policy>([['default', builtInDefault]])
          for (const { client, route, remove } of changes) {
            if (client === '*' && route === '*') continue
            const name = Buffer.from(`${client} ${route}`).toString('hex')
            if (!remove) {
              const made = policy(name, client, route)
              book.put(made)
              model.set(name, made)
            } else if (model.has(name)) {
              book.delete(name)
              model.delete(name)
            }
          }
          expect(book.size).toBe(model.size)
          for (const { clientId, route } of questions) {
            expect(book.find(clientId, route)).toBe(slowFind([...model.values()], clientId, route))
          }
        },
      ),
      { numRuns: 1000 },
    )
  })
})

describe('changing policies', () => {
  test('a policy can be replaced, even with other patterns', () => {
    const book = bookOf(policy('a', 'acme', '*'))
    const next = policy('a', 'bolt', '/x')
    expect(book.put(next)?.client).toBe('acme')
    expect(book.find('acme', '/x')).toBe(builtInDefault)
    expect(book.find('bolt', '/x')).toBe(next)
    expect(book.size).toBe(2)
  })

  test('two policies with the same patterns are refused with the name of the other, and nothing changes', () => {
    const book = bookOf(policy('a', 'acme', '/v1/*'))
    const refused = (): unknown => book.put(policy('b', 'acme', '/v1/*'))
    expect(refused).toThrow('the policy "a" has client "acme" and route "/v1/*" already: change that one')
    expect(refused).toThrow(expect.objectContaining({ code: 'ERR_POLICY_TAKEN', status: 409 }))
    expect(book.get('b')).toBeUndefined()
    expect(book.find('acme', '/v1/x').name).toBe('a')
  })

  test('the default can be replaced; deleting the replacement restores the built-in one, which cannot be deleted', () => {
    const book = new PolicyBook()
    const own = readPolicy({ name: 'default', rules: '5/minute' }, 'api')
    expect(book.put(own)).toBe(builtInDefault)
    expect(book.find('x', '/y')).toBe(own)
    book.delete('default')
    expect(book.find('x', '/y')).toBe(builtInDefault)
    expect(() => book.delete('default')).toThrow(expect.objectContaining({ code: 'ERR_POLICY_BUILT_IN' }))
    expect(book.list().policies).toEqual([builtInDefault])
  })

  test('a policy that does not exist cannot be deleted', () => {
    expect(() => new PolicyBook().delete('nobody')).toThrow(expect.objectContaining({ code: 'ERR_POLICY_UNKNOWN' }))
  })
})

describe('policies of the file', () => {
  test('cannot be changed or deleted, and the message says so', () => {
    const book = new PolicyBook()
    book.replaceFilePolicies([ofFile('a', 'acme', '*')])
    for (const change of [() => book.put(policy('a', 'acme', '*')), () => book.delete('a')]) {
      expect(change).toThrow('the policy "a" comes from the configuration file: change it there')
      expect(change).toThrow(expect.objectContaining({ code: 'ERR_POLICY_FROM_FILE' }))
    }
    expect(() => book.put(policy('b', 'acme', '*'))).toThrow(/the policy "a" has client "acme"/)
    expect(book.get('a')?.source).toBe('file')
  })

  test('override those of the API with the same name or patterns, which are in force again when they are removed', () => {
    const book = bookOf(policy('name', 'acme', '*'), policy('patterns', 'bolt', '/x'), policy('free', 'cog', '*'))
    book.replaceFilePolicies([ofFile('name', 'other', '*'), ofFile('file', 'bolt', '/x')])
    expect(book.find('acme', '/')).toBe(builtInDefault)
    expect(book.find('bolt', '/x').name).toBe('file')
    expect(book.find('cog', '/').name).toBe('free')
    expect(book.hidden.map(({ name }) => name)).toEqual(['name', 'patterns'])
    book.replaceFilePolicies([])
    expect(book.find('acme', '/').name).toBe('name')
    expect(book.find('bolt', '/x').name).toBe('patterns')
    expect(book.hidden).toEqual([])
  })

  test('no new policy may take the patterns of a hidden one', () => {
    const book = bookOf(policy('name', 'acme', '*'))
    book.replaceFilePolicies([ofFile('name', 'other', '*')])
    expect(() => book.put(policy('new', 'acme', '*'))).toThrow(expect.objectContaining({ code: 'ERR_POLICY_TAKEN' }))
  })

  test('may include the default', () => {
    const book = bookOf(readPolicy({ name: 'default', rules: '5/minute' }, 'api'))
    const own = readPolicy({ name: 'default', rules: '7/minute' }, 'file')
    book.replaceFilePolicies([own])
    expect(book.find('x', '/y')).toBe(own)
    book.replaceFilePolicies([])
    expect(book.find('x', '/y').source).toBe('api')
  })
})

describe('a list', () => {
  const book = bookOf(...['d', 'b', 'a', 'c'].map((name) => policy(name, `client-${name}`, '/V1/*')))
  const namesOf = (options: object): string[] => book.list(options).policies.map(({ name }) => name)

  test('is sorted by name', () => {
    expect(namesOf({})).toEqual(['a', 'b', 'c', 'd', 'default'])
    expect(book.list()).toMatchObject({ total: 5, next: undefined })
  })

  test('comes in pages', () => {
    expect(namesOf({ limit: 2 })).toEqual(['a', 'b'])
    expect(book.list({ limit: 2 })).toMatchObject({ total: 5, next: 'b' })
    expect(namesOf({ limit: 2, after: 'b' })).toEqual(['c', 'd'])
    expect(book.list({ limit: 2, after: 'd' })).toMatchObject({ total: 5, next: undefined })
    expect(namesOf({ limit: 2, after: 'd' })).toEqual(['default'])
  })

  test('can be searched by name, client and route, ignoring case', () => {
    expect(namesOf({ search: 'CLIENT-B' })).toEqual(['b'])
    expect(namesOf({ search: '/v1', limit: 3 })).toEqual(['a', 'b', 'c'])
    expect(book.list({ search: '/v1', limit: 3 })).toMatchObject({ total: 4, next: 'c' })
    expect(namesOf({ search: 'efaul' })).toEqual(['default'])
  })
})

test('a lookup among a hundred thousand policies costs the same as among ten', () => {
  const make = (count: number): PolicyBook => {
    const book = new PolicyBook()
    const all: Policy[] = []
    for (let i = 0; i < count; i++) {
      const kind = i % 4
      all.push(policy(`p${i}`, kind < 2 ? `client-${i}` : `group-${i}*`, kind % 2 === 0 ? `/v1/${i}` : `/v1/${i}/*`))
    }
    book.replaceApiPolicies(all)
    return book
  }
  const few = make(10)
  const many = make(100_000)
  expect(many.find('client-99996', '/v1/99996').name).toBe('p99996')
  expect(many.find('group-99999-x', '/v1/99999/y').name).toBe('p99999')
  const msFor = (book: PolicyBook, count: number): number => {
    const start = performance.now()
    for (let i = 0; i < 100_000; i++) book.find(`client-${i % (2 * count)}`, `/v1/${i % (2 * count)}`)
    return performance.now() - start
  }
  const best = (book: PolicyBook, count: number): number => Math.min(...[1, 2, 3, 4, 5].map(() => msFor(book, count)))
  // The larger book misses the processor's caches. A scan would take ten thousand times as long.
  expect(best(many, 100_000)).toBeLessThan(20 * best(few, 10))
})
