import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PATH_FOLDS, type PathFold, plainPath } from './plain-path.ts'

describe('a path has one spelling', () => {
  test.each([
    ['/api/orders', '/api/orders'],
    ['/api/orders?page=2', '/api/orders'],
    ['/api/orders#top', '/api/orders'],
    ['/api//orders', '/api/orders'],
    ['//api/orders', '/api/orders'],
    ['/api/./orders', '/api/orders'],
    ['/api/x/../orders', '/api/orders'],
    ['/api/x/%2e%2E/orders', '/api/orders'],
    ['/api/%6frders', '/api/orders'],
    ['/api/%21', '/api/!'],
    ['/api/[1]|%5b1%5d', '/api/[1]|[1]'],
    ['/api/a%2fb', '/api/a%2Fb'],
    ['/api/a\\b', '/api/a/b'],
    ['/api/a b', '/api/a%20b'],
    ['/api/%zz%4', '/api/%25zz%254'],
    ['/api/%2541', '/api/%2541'],
    // UTF-8 as bytes, as text, and as escapes.
    ['/caf\u00c3\u00a9', '/caf%C3%A9'],
    ['/\u6f22', '/%E6%BC%A2'],
    ['/%e6%bc%a2', '/%E6%BC%A2'],
    ['https://example.com/api/orders?x', '/api/orders'],
    ['https://example.com', '/'],
    ['https://example.com?x=/a', '/'],
    ['', '/'],
    ['api/orders', '/api/orders'],
    ['/../../etc', '/etc'],
    ['/api/', '/api/'],
    ['/api/.', '/api/'],
    ['/api/x/..', '/api/'],
    ['/api/..', '/'],
    ['/Api;v=1/x', '/Api;v=1/x'],
  ])('%s', (url, path) => {
    expect(plainPath(url)).toBe(path)
  })
})

describe('spellings that are folded on request', () => {
  test.each<[PathFold[], string, string]>([
    [['case'], '/Orders/%41', '/orders/a'],
    [['case'], '/CAF%C3%89', '/caf%C3%A9'],
    [['case'], '/A%FF', '/a%FF'],
    [['parameters'], '/orders;v=1/x;y', '/orders/x'],
    [['parameters'], '/orders%3Bv=1', '/orders'],
    [['parameters'], '/a/..;x/b', '/b'],
    [['trailing-slash'], '/orders/', '/orders'],
    [['trailing-slash'], '/', '/'],
    [['encoded-slash'], '/orders%2f7%5C8', '/orders/7/8'],
    [['encoded-slash'], '/orders%252F7', '/orders%252F7'],
    [['encoded-slash'], '/a%2F..%2Fb', '/b'],
    [[...PATH_FOLDS], '//A%2Fb;c/./D/', '/a/b/d'],
  ])('%j: %s', (fold, url, path) => {
    expect(plainPath(url, { fold })).toBe(path)
  })

  test('an unknown one is refused', () => {
    expect(() => plainPath('/', { fold: ['lower' as PathFold] })).toThrow(/fold must be a list of case, parameters/)
    expect(() => plainPath('/', { fold: 'case' as never })).toThrow(/fold must be a list/)
  })
})

/** Pieces that mean something, between bytes that do not. */
const piece = fc.oneof(
  fc.constantFrom(
    '/',
    '//',
    '\\',
    '.',
    '..',
    '%2e',
    '%2E',
    '%2f',
    '%5c',
    '%25',
    '%',
    '%2',
    ';',
    '%3b',
    'a',
    'A',
    '%41',
    '%61',
    '%c3%a9',
    '%C3%89',
    '%ff',
    '!',
    '%21',
    ' ',
    '\u00c3\u00a9',
    '?',
    '#',
    'x',
    '%252F',
    '%E2%84%AA',
    '%C4%B0',
  ),
  fc.nat({ max: 255 }).map((byte) => String.fromCharCode(byte)),
)
const anyUrl = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(''))
const anyFold = fc.subarray([...PATH_FOLDS])

/** Decodes the segments of a URL one by one as bytes: a slow and obvious model. */
function decodeSegments(url: string): string[] {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/\\?#]*/i, '').replace(/[?#].*/s, '')
  return path
    .split(/[/\\]/)
    .map((raw) => raw.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16))))
}

/** Returns a text that is the same for two URLs exactly if they name one path. */
function modelPath(url: string): string {
  const kept: string[] = []
  let isOpen = true
  for (const segment of decodeSegments(url)) {
    isOpen = ['', '.', '..'].includes(segment)
    if (segment === '..') kept.pop()
    else if (!isOpen) kept.push(segment)
  }
  return JSON.stringify([kept, isOpen && kept.length > 0])
}

/** URLs that never climb: a fold is applied before `..` climbs, so it changes how many segments a `..` removes. */
const levelUrl = anyUrl.filter((url) => !decodeSegments(url).includes('..'))

describe('for any URL', () => {
  test('a plain path comes out, and putting it in again changes nothing', () => {
    fc.assert(
      fc.property(fc.oneof(anyUrl, fc.string({ unit: 'binary' })), anyFold, (url, fold) => {
        const path = plainPath(url, { fold })
        expect(path).toMatch(/^\/(?!\/)[!-~]*$/)
        expect(path).not.toMatch(/[?#\\]|\/\/|\/\.\.?(\/|$)/)
        expect(plainPath(path, { fold })).toBe(path)
      }),
      { numRuns: 2000 },
    )
  })

  test('without folding, two are one path exactly if their decoded segments are the same', () => {
    const small = fc.array(fc.constantFrom('/', 'a', '%61', 'A', '%2f', '.', '%2e', ';', '%3B', '%', '%25', '\\'), {
      maxLength: 5,
    })
    const pair = fc.tuple(small, small).map((both) => both.map((pieces) => pieces.join('')))
    fc.assert(
      fc.property(fc.oneof(pair, fc.tuple(anyUrl, anyUrl)), ([one, other]) => {
        expect(plainPath(one) === plainPath(other)).toBe(modelPath(one) === modelPath(other))
      }),
      { numRuns: 5000 },
    )
  })

  test('a folding merges what it names, and what was one path before stays one if it does not climb', () => {
    fc.assert(
      fc.property(levelUrl, levelUrl, anyFold, (one, other, fold) => {
        const folded = plainPath(one, { fold })
        expect(plainPath(plainPath(one), { fold })).toBe(folded)
        if (plainPath(one) === plainPath(other)) expect(plainPath(other, { fold })).toBe(folded)
        if (!fold.includes('case')) expect(plainPath('/aB', { fold })).not.toBe(plainPath('/ab', { fold }))
        if (!fold.includes('parameters')) expect(plainPath('/a;b', { fold })).not.toBe(plainPath('/a', { fold }))
        if (!fold.includes('trailing-slash')) expect(plainPath('/a/', { fold })).not.toBe(plainPath('/a', { fold }))
        if (!fold.includes('encoded-slash')) expect(plainPath('/a%2Fb', { fold })).not.toBe(plainPath('/a/b', { fold }))
      }),
      { numRuns: 2000 },
    )
  })
})

test.for([
  ['/a%2Fb/..', 'encoded-slash', '/a/'],
  ['/a/;v=1/..', 'parameters', '/'],
  ['/a/b/..;v=1', 'parameters', '/a/'],
] as const)('%s folded by %s climbs after the folding, to %s', ([url, fold, path]) => {
  expect(plainPath(url, { fold: [fold] })).toBe(path)
})

test('a long path takes no longer than its length', () => {
  const url = `/${'%2e%2e/a;b%41'.repeat(100_000)}`
  const startMs = performance.now()
  plainPath(url, { fold: PATH_FOLDS })
  expect(performance.now() - startMs).toBeLessThan(5000)
})
