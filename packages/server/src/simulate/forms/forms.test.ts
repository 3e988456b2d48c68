import fc from 'fast-check'
import { plainPath } from 'sluice/http'
import { describe, expect, test } from 'vitest'
import { blankEntry, EntryReader, type FieldMapping, type LogEntry } from './entry-reader.ts'
import { FORM_NAMES, FORMS, formCalled, recognisedForm } from './forms.ts'
import { logBytes } from './log-bytes.ts'

const OPTIONS = { delimiter: ',', hasHeading: true }

function readerOf(form: string, mapping: FieldMapping = {}, options = OPTIONS): EntryReader {
  const facts = formCalled(form)
  if (facts === undefined) throw new Error(`no form is called ${form}`)
  const reader = new EntryReader(facts, mapping, options)
  reader.begin()
  return reader
}

/** Reads a line in the middle of a text, as a chunk of a file has it. Returns the entry or the problem. */
function read(reader: EntryReader, line: string): LogEntry | string {
  const entry = blankEntry()
  const [before, bytes, after] = ['before "x] y\n', line, '\n"after] '].map((text) => Buffer.from(text))
  const text = logBytes(Buffer.concat([before, bytes, after]))
  return reader.read(text, before.length, before.length + bytes.length, entry) ?? entry
}

const COMMON = '203.0.113.9 - ada [10/Oct/2026:13:55:36 +0000] "GET /v1/orders?page=2 HTTP/1.1" 200 2326'
const COMBINED = `${COMMON} "https://example.com/" "Mozilla/5.0 (X11; \\"odd\\")"`
const ENVOY =
  '[2026-10-10T13:55:36.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "198.51.100.7, 10.0.35.28" "nsq2http" "cc21d9b0" "locations" "tcp://10.0.2.1:80"'
const CLOUDFRONT_HEADING =
  '#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent)'
const CLOUDFRONT =
  '2026-10-10\t13:55:36\tFRA2\t182\t192.0.2.10\tGET\td111.cloudfront.net\t/view/my/file.html\t200\t-\tMozilla/4.0'

describe('each form', () => {
  test.each([
    ['common', COMMON, '203.0.113.9', '/v1/orders'],
    ['combined', COMBINED, '203.0.113.9', '/v1/orders'],
    ['nginx', COMBINED, '203.0.113.9', '/v1/orders'],
    ['envoy', ENVOY, '10.0.35.28', '/api/v1/locations'],
    ['cloudfront', CLOUDFRONT, '192.0.2.10', '/view/my/file.html'],
    ['json', '{"time":"2026-10-10T13:55:36Z","remote_addr":"192.0.2.1","uri":"/a?b=c"}', '192.0.2.1', '/a'],
    ['json', '{"ts":1791640536.2,"request":{"remote_ip":"192.0.2.1","method":"GET","uri":"/a"}}', '192.0.2.1', '/a'],
  ])('%s: client, time and route have usual fields', (form, line, clientId, route) => {
    const entry = read(readerOf(form), line) as LogEntry
    expect(entry).toMatchObject({ clientId, route, cost: 1 })
    expect(new Date(entry.timeMs).toISOString()).toMatch(/^2026-10-10T13:55:36/)
  })

  test.each([
    [COMMON, 'combined'],
    [COMBINED, 'combined'],
    [ENVOY, 'envoy'],
    [CLOUDFRONT_HEADING, 'cloudfront'],
    ['#Version: 1.0', 'cloudfront'],
    [CLOUDFRONT, 'cloudfront'],
    ['{"time":1}', 'json'],
    ['time,client,path', undefined],
    ['', undefined],
  ])('%s is recognised', (line, form) => {
    expect(recognisedForm(line)?.name).toBe(form)
  })

  test('names are unique', () => {
    expect(new Set(FORM_NAMES).size).toBe(FORM_NAMES.length)
  })

  test('no line makes a reader throw, and what it reads has a time, a client and a route', () => {
    const piece = fc.oneof(
      fc.constantFrom(' ', '"', '[', ']', '\\', ',', '\t', '-', '#', '{', '}', 'GET /a HTTP/1.1'),
      fc.string(),
    )
    const line = fc.array(fc.oneof(piece, fc.constantFrom(COMMON, ENVOY, CLOUDFRONT, '10/Oct/2026:13:55:36 +0000')), {
      maxLength: 20,
    })
    const readers = FORMS.map(({ name }) => readerOf(name))
    fc.assert(
      fc.property(line, (pieces) => {
        for (const reader of readers) {
          const entry = read(reader, pieces.join('').replaceAll('\n', ''))
          if (typeof entry === 'string') continue
          expect(entry.timeMs).toBeGreaterThanOrEqual(0)
          expect(entry.clientId).not.toBe('')
          expect(entry.route).not.toBe('')
        }
      }),
    )
  })
})

test('a reader reads a line as a new one does, whatever lines it has read before', () => {
  const times = ['[10/Oct/2026:13:55:36 +0000]', '[10/Oct/2026:13:55:37 +0000]', '[2026-10-10T13:55:36Z]', '[]', '[x', '13:55']
  const requests = ['"GET /a HTTP/1.1"', '"POST /b?c HTTP/2"', '"GET /a\\"b"', '"-"', '"', 'GET']
  const clients = ['192.0.2.1', '2001:db8::1', '-', '"a b"', 'é', 'x'.repeat(257)]
  const column = fc.constantFrom(...times, ...requests, ...clients, '\t', '1.1.1.1, 10.0.0.1')
  const usual = fc.tuple(...[clients, ['-'], clients, times, requests].map((texts) => fc.constantFrom(...texts)))
  const lines = fc.array(fc.oneof(usual, fc.array(column, { maxLength: 10 })), { maxLength: 30 })
  const mappings: FieldMapping[] = [{}, { prefixes: ['method'] }, { client: ['#3', '#1'], attributes: { user: '#3' } }]
  fc.assert(
    fc.property(lines, fc.constantFrom(...mappings), fc.constantFrom('combined', 'common'), (all, mapping, form) => {
      const reader = readerOf(form, mapping)
      for (const columns of all) {
        const line = columns.join(' ')
        const { tagger: _, ...entry } = Object(read(reader, line))
        const { tagger: __, ...expected } = Object(read(readerOf(form, mapping), line))
        expect(entry).toEqual(expected)
      }
    }),
    { numRuns: 30 },
  )
})

describe('a mapping', () => {
  test('names the client: the first field that the line has', () => {
    const reader = readerOf('combined', { client: ['remote_user', 'remote_addr'] })
    expect(read(reader, COMBINED)).toMatchObject({ clientId: 'ada' })
    expect(read(reader, COMBINED.replace(' ada ', ' - '))).toMatchObject({ clientId: '203.0.113.9' })
  })

  test('takes columns by number, also those without a name', () => {
    const reader = readerOf('combined', { client: ['#10'], cost: ['#7'] })
    expect(read(reader, `${COMBINED} "tenant 7"`)).toMatchObject({ clientId: 'tenant 7', cost: 2326 })
    expect(read(reader, COMBINED)).toBe('it has 9 fields, and 10 are needed')
  })

  test('takes paths of inner objects, and keys with dots', () => {
    const reader = readerOf('json', { client: ['user.id'], time: ['t'], route: ['http.route'], cost: ['usage.tokens'] })
    const line = '{"t":1791640536,"user":{"id":42},"http.route":"/orders/{id}","usage":{"tokens":17.2}}'
    expect(read(reader, line)).toMatchObject({ clientId: '42', route: '/orders/{id}', cost: 18 })
  })

  test('puts method and host before the path', () => {
    expect(read(readerOf('envoy', { prefixes: ['method', 'host'] }), ENVOY)).toMatchObject({
      route: 'POST locations/api/v1/locations',
    })
    expect(() => readerOf('combined', { prefixes: ['host'] })).toThrow('the form combined has no field for the host')
    expect(() => readerOf('combined', { client: ['user_id'] })).toThrow('there is no field user_id: there is remote_addr')
  })

  test('reads attributes, without those that a line lacks', () => {
    const reader = readerOf('json', { attributes: { plan: 'plan', region: 'geo.region' } })
    const line = '{"time":1791640536,"client":"ada","path":"/","plan":"free","geo":{"region":"-"}}'
    expect(read(reader, line)).toMatchObject({ attributes: { plan: 'free' } })
  })

  test('folds spellings of a path', () => {
    const reader = readerOf('json', { fold: ['case', 'trailing-slash'] })
    expect(read(reader, '{"time":1,"client":"a","path":"/Orders/"}')).toMatchObject({ route: '/orders' })
  })
})

describe('CSV', () => {
  test('has a heading in the first line of each file, in any order of columns', () => {
    const reader = readerOf('csv')
    expect(read(reader, 'path,client,time')).toBe('')
    expect(read(reader, '"/a,""b""",ada,2026-10-10 13:55:36')).toMatchObject({ clientId: 'ada', route: '/a,%22b%22' })
    reader.begin()
    expect(read(reader, 'time,client,path')).toBe('')
    expect(read(reader, '2026-10-10 13:55:36,eve,/c')).toMatchObject({ clientId: 'eve', route: '/c' })
    expect(read(reader, '2026-10-10 13:55:36,"eve')).toBe('a quoted field has no end')
  })

  test('has no heading if columns are called by number', () => {
    const mapping = { time: ['#1'], client: ['#2'], path: ['#3'] }
    const reader = readerOf('csv', mapping, { delimiter: ';', hasHeading: false })
    expect(read(reader, '1791640536;ada;/a')).toMatchObject({ clientId: 'ada', route: '/a' })
  })
})

test('a heading of CloudFront changes the columns', () => {
  const reader = readerOf('cloudfront')
  expect(read(reader, '#Fields: c-ip date time cs-uri-stem')).toBe('')
  expect(read(reader, '192.0.2.1\t2026-10-10\t13:55:36\t/b')).toMatchObject({ clientId: '192.0.2.1', route: '/b' })
})

test.each([
  ['combined', COMBINED.replace('GET /v1/orders?page=2 HTTP/1.1', '-'), 'it has no path'],
  ['combined', COMBINED.replace('10/Oct', '10/Okt'), 'its time cannot be read: "10/Okt/2026:13:55:36 +0000"'],
  ['combined', `${'x'.repeat(257)}${COMBINED.slice(11)}`, 'its client is longer than 256 characters'],
  ['combined', COMBINED.replace('/v1', `/${'x'.repeat(3000)}`), 'its route is longer than 2048 characters'],
  ['combined', 'a b c', 'it has 3 fields, and 5 are needed'],
  ['combined', '', 'it is empty'],
  ['envoy', ENVOY.replace('198.51.100.7, 10.0.35.28', '-'), 'it has no client'],
  ['json', '[1]', 'it is not a JSON object'],
  ['json', '{"time":', 'it is not JSON'],
  ['json', '{"client":"a","path":"/"}', 'it has no time'],
])('%s: %s has a problem', (form, line, problem) => {
  expect(read(readerOf(form), line)).toBe(problem)
})

test('a request may have escapes, a path with spaces, and no protocol', () => {
  const path = (request: string) =>
    (read(readerOf('common'), COMMON.replace('GET /v1/orders?page=2 HTTP/1.1', request)) as LogEntry).route
  expect(path('GET /a\\x22\\"b HTTP/1.1')).toBe('/a%22%22b')
  expect(path('GET /a b HTTP/1.1')).toBe('/a%20b')
  expect(path('GET /')).toBe('/')
  expect(path('GET http://example.com//x/../y HTTP/1.1')).toBe('/y')
})

test('the route of a path is its plain path', () => {
  const reader = readerOf('json')
  const segment = fc.oneof(
    fc.constantFrom('', '.', '..', '%2e', '%2F', 'é', '\\', '.well-known', 'a;v=1', 'A', '…'),
    fc.webSegment(),
  )
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 5 }), fc.constantFrom('', '?q=/a/../b', '#x'), (segments, query) => {
      const path = `/${segments.join('/')}${query}`
      const line = JSON.stringify({ time: 1, client: 'a', path })
      const bytes = Buffer.from(path).toString('latin1')
      expect(read(reader, line)).toMatchObject({ route: plainPath(bytes) })
    }),
  )
})
