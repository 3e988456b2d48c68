// Lines as real servers write them, from the documentation of each, with the odd ones that logs have: IPv6, quotes in names of browsers,
// missing fields, other time zones, and connections without a request.

import { describe, expect, test } from 'vitest'
import { blankEntry, EntryReader, type FieldMapping } from './entry-reader.ts'
import { formCalled, recognisedForm } from './forms.ts'
import { logBytes } from './log-bytes.ts'

interface Reading {
  readonly form: string
  readonly mapping?: FieldMapping
  readonly lines: readonly string[]
}

/** Reads lines of one file. Returns `client time route` of each, or its problem. */
function readAll({ form, mapping = {}, lines }: Reading): string[] {
  const facts = formCalled(form)
  if (facts === undefined) throw new Error(`no form is called ${form}`)
  const reader = new EntryReader(facts, mapping, { delimiter: ',', hasHeading: true })
  reader.begin()
  return lines.map((line) => {
    const bytes = Buffer.from(line)
    const entry = blankEntry()
    const problem = reader.read(logBytes(bytes), 0, bytes.length, entry)
    return problem ?? `${entry.clientId} ${new Date(entry.timeMs).toISOString().slice(0, 19)} ${entry.route}`
  })
}

/** Reads one line, and checks that its form is recognised. */
function readOne(form: string, line: string, mapping: FieldMapping = {}): string {
  expect(recognisedForm(line)?.name).toBe(formCalled(form)?.name)
  return readAll({ form, mapping, lines: [line] })[0]
}

describe('nginx', () => {
  test.each([
    [
      'IPv6 and a time zone',
      '2001:db8::a1 - - [29/Feb/2024:23:59:59 +0530] "GET /index.html HTTP/2.0" 200 612 "-" "curl/8.5.0"',
      '2001:db8::a1 2024-02-29T18:29:59 /index.html',
    ],
    [
      'a quote in the browser and in the path',
      String.raw`192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /a\x22b?c=\x22 HTTP/1.1" 404 153 "-" "Mozilla/5.0 \x22odd\x22 \x5C"`,
      '192.0.2.1 2026-10-10T13:55:36 /a%22b',
    ],
    [
      'a user with a space in the name',
      '192.0.2.1 - ada lovelace [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-"',
      '192.0.2.1 2026-10-10T13:55:36 /',
    ],
    ['a client that closed before its request', '192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "" 400 0 "-" "-"', 'it has no path'],
    [
      'TLS sent to a plain port',
      String.raw`192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "\x16\x03\x01\x02\x00\x01" 400 157 "-" "-"`,
      'it has no path',
    ],
    [
      'bytes of other letters',
      String.raw`192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] "GET /caf\xC3\xA9 HTTP/1.1" 200 5 "-" "-"`,
      '192.0.2.1 2026-10-10T13:55:36 /caf%C3%A9',
    ],
  ])('%s', (_, line, expected) => {
    expect(readOne('nginx', line)).toBe(expected)
  })

  test('the name of a user with spaces can be the client', () => {
    const line = '192.0.2.1 - ada lovelace [10/Oct/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 5 "-" "-"'
    expect(readOne('nginx', line, { client: ['remote_user', 'remote_addr'] })).toBe('ada lovelace 2026-10-10T13:55:36 /')
  })
})

describe('Apache', () => {
  test.each([
    [
      'the example of its manual',
      '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"',
      '127.0.0.1 2000-10-10T20:55:36 /apache_pb.gif',
    ],
    [
      'a host name, an empty user and no bytes',
      'host.example.com - "" [10/Oct/2000:13:55:36 +0000] "HEAD / HTTP/1.1" 304 - "-" "-"',
      'host.example.com 2000-10-10T13:55:36 /',
    ],
    [
      'quotes and backslashes',
      String.raw`192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET /a\"b HTTP/1.1" 200 1 "-" "say \"hi\" \\"`,
      '192.0.2.1 2000-10-10T13:55:36 /a%22b',
    ],
    ['a timeout without a request', '192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "-" 408 - "-" "-"', 'it has no path'],
    [
      'a request by proxy',
      '192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET http://example.com/a HTTP/1.1" 200 1 "-" "-"',
      '192.0.2.1 2000-10-10T13:55:36 /a',
    ],
  ])('%s', (_, line, expected) => {
    expect(readOne('apache', line)).toBe(expected)
  })

  test('a virtual host in front is not taken for the client', () => {
    const line = 'example.com:443 192.0.2.1 - - [10/Oct/2000:13:55:36 +0000] "GET / HTTP/1.1" 200 1 "-" "-"'
    expect(readOne('apache', line)).toBe('its field 5 is not whole')
  })
})

describe('Envoy', () => {
  test.each([
    [
      'the example of its documentation',
      '[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "nsq2http" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "locations" "tcp://10.0.2.1:80"',
      '10.0.35.28 2016-04-15T20:17:00 /api/v1/locations',
    ],
    [
      'a quote in the browser, and IPv6',
      '[2026-10-10T13:55:36.310Z] "GET /a?b HTTP/1.1" 200 UF,URX 0 9 1 - "198.51.100.7,2001:db8::1" "say "hi"" "id" "example.com" "-"',
      '2001:db8::1 2026-10-10T13:55:36 /a',
    ],
    [
      'a connection without a request',
      '[2026-10-10T13:55:36.310Z] "- - -" 0 UF 0 0 1 - "-" "-" "-" "-" "10.0.2.1:80"',
      'it has no client',
    ],
  ])('%s', (_, line, expected) => {
    expect(readOne('envoy', line)).toBe(expected)
  })
})

describe('Istio', () => {
  const line = (forwarded: string, request = 'GET /status/418 HTTP/1.1') =>
    `[2020-11-25T21:26:18.409Z] "${request}" 418 - via_upstream - "-" 0 135 4 4 "${forwarded}" "curl/7.73.0-DEV" "84961386-6d84-929d-98bd-c5aee93b5c88" "httpbin:8000" "10.44.1.27:80" outbound|8000||httpbin.foo.svc.cluster.local 10.44.1.23:37652 10.0.45.184:8000 10.44.1.23:46520 - default`

  test.each([
    ['a sidecar: the client is the peer', line('-'), '10.44.1.23 2020-11-25T21:26:18 /status/418'],
    [
      'a gateway: the client is the last forwarded address',
      line('1.2.3.4, 198.51.100.7'),
      '198.51.100.7 2020-11-25T21:26:18 /status/418',
    ],
    ['IPv6', line('-').replace('10.44.1.23:46520', '[2001:db8::1]:46520'), '2001:db8::1 2020-11-25T21:26:18 /status/418'],
    ['a connection without a request', line('-', '- - -'), 'it has no path'],
  ])('%s', (_, text, expected) => {
    expect(readOne('istio', text)).toBe(expected)
  })
})

test('CloudFront: headings, escapes, IPv6 and missing fields', () => {
  const names =
    'date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end'
  const line = (client: string, stem: string) =>
    `2019-12-04\t21:02:31\tLAX1\t392\t${client}\tGET\td111111abcdef8.cloudfront.net\t${stem}\t200\t-\tMozilla/5.0%20(Windows%20NT)\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\td111111abcdef8.cloudfront.net\thttps\t23\t0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/html\t78\t-\t-`
  const lines = [
    '#Version: 1.0',
    `#Fields: ${names}`,
    line('192.0.2.100', '/index.html'),
    line('2001:db8::1', '/a%20b/c%2523'),
    '',
  ]
  expect(recognisedForm(lines[0])?.name).toBe('cloudfront')
  expect(readAll({ form: 'cloudfront', lines })).toEqual([
    ...['', '', '192.0.2.100 2019-12-04T21:02:31 /index.html', '2001:db8::1 2019-12-04T21:02:31 /a%20b/c%2523', ''],
  ])
  expect(readAll({ form: 'cloudfront', mapping: { prefixes: ['method', 'host'] }, lines })[2]).toBe(
    '192.0.2.100 2019-12-04T21:02:31 GET d111111abcdef8.cloudfront.net/index.html',
  )
})

describe('JSON lines', () => {
  test.each([
    [
      'Caddy',
      '{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"]}},"status":200}',
      '127.0.0.1 2022-03-09T21:30:01 /a',
    ],
    [
      'Traefik',
      '{"ClientAddr":"192.0.2.1:5555","ClientHost":"192.0.2.1","RequestHost":"example.com","RequestMethod":"GET","RequestPath":"/a?b","StartUTC":"2026-10-10T13:55:36.123456789Z","time":"2026-10-10T13:55:36Z"}',
      '192.0.2.1 2026-10-10T13:55:36 /a',
    ],
    [
      'Fastify and pino-http',
      '{"level":30,"time":1791640536000,"pid":7,"reqId":"req-1","req":{"method":"GET","url":"/a?b","host":"localhost:3000","remoteAddress":"::1","remotePort":5555},"msg":"incoming request"}',
      '::1 2026-10-10T13:55:36 /a',
    ],
    [
      'the second line that Fastify writes',
      '{"level":30,"time":1791640536000,"pid":7,"reqId":"req-1","res":{"statusCode":200},"responseTime":2.5,"msg":"request completed"}',
      'it has no client',
    ],
    [
      'nginx with escape=json',
      String.raw`{"time_local":"10/Oct/2026:13:55:36 +0200","remote_addr":"2001:db8::1","request_uri":"/caf\u00E9\"","request_method":"GET"}`,
      '2001:db8::1 2026-10-10T11:55:36 /caf%C3%A9%22',
    ],
  ])('%s', (_, line, expected) => {
    expect(readOne('json', line)).toBe(expected)
  })
})

test('CSV: quotes, commas, a byte order mark that was removed, and missing fields', () => {
  const lines = [
    '"time","client","path","agent"',
    '2026-10-10T13:55:36+02:00,"2001:db8::1","/a,b","say ""hi"", twice"',
    '2026-10-10 13:55:36,,/a,',
    '1791640536,-,/a',
    '1791640536,ada,"/a',
  ]
  expect(readAll({ form: 'csv', lines })).toEqual([
    ...['', '2001:db8::1 2026-10-10T11:55:36 /a,b', 'it has no client', 'it has no client', 'a quoted field has no end'],
  ])
})
