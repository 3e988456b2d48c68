import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CheckHead, FIELD_NAMES, FOREIGN, HEAD_BYTES, INCOMPLETE } from './check-head.ts'

const LINE = 'POST /v1/check HTTP/1.1'
const NEEDED = ['Host: 127.0.0.1:8080', 'Content-Type: application/json', 'Content-Length: 17']

function read(head: string, before = ''): { readonly head: CheckHead; readonly bodyStart: number } {
  const reader = new CheckHead()
  return {
    head: reader,
    bodyStart: reader.read(Buffer.from(before + head, 'latin1'), before.length, before.length + head.length),
  }
}

const headOf = (...fields: string[]) => `${[LINE, ...fields].join('\r\n')}\r\n\r\n`

describe('a head that is accepted', () => {
  test.each([
    ['nothing but the needed fields', []],
    ['what curl sends', ['User-Agent: curl/8.14.1', 'Accept: */*', 'Api-Key: k']],
    [
      'what fetch of Node sends',
      [
        'connection: keep-alive',
        'accept: */*',
        'accept-language: *',
        'sec-fetch-mode: cors',
        'user-agent: node',
        'accept-encoding: gzip, deflate',
      ],
    ],
    ['what a proxy adds', ['X-Forwarded-For: 10.0.0.1, 10.0.0.2', 'X-Request-Id: 1', 'traceparent: 00-1-2-01']],
    ['capitals', ['CONNECTION: Keep-Alive', 'AUTHORIZATION: Bearer x']],
  ])('%s', (_, fields) => {
    const text = headOf(...NEEDED, ...fields)
    const { head, bodyStart } = read(`${text}{"client_id":"a"}`, 'before')
    expect([bodyStart, head.contentLength]).toEqual(['before'.length + text.length, 17])
  })

  test('has its values', () => {
    const { head } = read(headOf(...NEEDED, 'api-KEY: sluice_1', 'Authorization: Bearer a b'))
    expect([head.apiKey, head.authorization, head.host]).toEqual(['sluice_1', 'Bearer a b', '127.0.0.1:8080'])
  })

  test('leaves nothing to the next one', () => {
    const head = new CheckHead()
    for (const text of [headOf(...NEEDED, 'Api-Key: k'), headOf('Host: b', ...NEEDED.slice(1))]) {
      head.read(Buffer.from(text), 0, text.length)
    }
    expect([head.apiKey, head.authorization, head.host]).toEqual([undefined, undefined, 'b'])
  })

  test('may have a parameter in its Content-Type', () => {
    const typed = (type: string) => read(headOf(NEEDED[0], NEEDED[2], `Content-Type: ${type}`)).bodyStart > 0
    const types = [
      'application/json; charset=utf-8',
      'Application/JSON;charset=UTF-8',
      'application/jsonx',
      'application/jso',
      'text/plain',
    ]
    expect(types.map(typed)).toEqual([true, true, false, false, false])
  })
})

test('the beginning of an accepted head is incomplete, wherever it is cut', () => {
  const text = headOf(...NEEDED, 'Api-Key: k', 'Connection: keep-alive')
  for (let length = 0; length < text.length; length++)
    expect([length, read(text.slice(0, length)).bodyStart]).toEqual([length, INCOMPLETE])
})

test.each([
  ['another method', headOf(...NEEDED).replace('POST', 'PUT')],
  ['another path', headOf(...NEEDED).replace('check', 'check/')],
  ['an older version', headOf(...NEEDED).replace('1.1', '1.0')],
  ['an empty line before it', `\r\n${headOf(...NEEDED)}`],
  ['no Host', headOf(...NEEDED.slice(1))],
  ['no Content-Type', headOf(NEEDED[0], NEEDED[2])],
  ['no Content-Length', headOf(...NEEDED.slice(0, 2))],
  ['two lengths', headOf(...NEEDED, 'Content-Length: 17')],
  ['two hosts', headOf(...NEEDED, 'host: b')],
  ['chunks', headOf(...NEEDED, 'Transfer-Encoding: chunked')],
  ['a cookie', headOf(...NEEDED, 'Cookie: a=b')],
  ['a page', headOf(...NEEDED, 'Origin: https://a.example')],
  ['Connection: close', headOf(...NEEDED, 'Connection: close')],
  ['Connection: keep-alive, upgrade', headOf(...NEEDED, 'Connection: keep-alive, upgrade')],
  ['an unknown field', headOf(...NEEDED, 'X-Other: 1')],
  ['an unknown field of a known length', headOf(...NEEDED, 'Hose: 1')],
  ['no space after the colon', headOf(...NEEDED, 'Accept:*/*')],
  ['two spaces after the colon', headOf(...NEEDED, 'Accept:  */*')],
  ['a tab after the colon', headOf(...NEEDED, 'Accept:\t*/*')],
  ['a space before the colon', headOf(...NEEDED, 'Accept : */*')],
  ['a space at the end', headOf(...NEEDED, 'Accept: */* ')],
  ['an empty value', headOf(...NEEDED, 'Accept: ')],
  ['a folded line', headOf(...NEEDED, 'Accept: */*\r\n x')],
  ['a bare line feed', headOf(...NEEDED, 'Accept: */*\nX: y')],
  ['a bare carriage return', headOf(...NEEDED, 'Accept: */*\rX: y')],
  ['a byte beyond ASCII', headOf(...NEEDED, 'User-Agent: caf\xe9')],
  ['a zero byte', headOf(...NEEDED, 'User-Agent: a\0b')],
  ['a carriage return in place of a hyphen', headOf(...NEEDED, 'Api\rKey: k')],
  ['an at sign in a name', headOf(...NEEDED, 'H@st: k')],
  ...['0', '017', '+17', '-1', '17 ', '1_7', '0x11', '17,17', '1e1', '', '9999999999'].map((length) => [
    `the length "${length}"`,
    headOf(NEEDED[0], NEEDED[1], `Content-Length: ${length}`),
  ]),
])('%s is foreign', (_, text) => {
  expect(read(text).bodyStart).toBe(FOREIGN)
})

test('a length is foreign at its first byte that is no digit, since node:http refuses it there', () => {
  const start = `${LINE}\r\nContent-Length: `
  expect(['1', '17', '17x', '17,', '1234567890'].map((length) => read(start + length).bodyStart)).toEqual([
    INCOMPLETE,
    INCOMPLETE,
    FOREIGN,
    FOREIGN,
    FOREIGN,
  ])
})

test('the length of a head is bounded', () => {
  const sized = (bytes: number) => {
    const rest = headOf(...NEEDED, 'User-Agent: ')
    return headOf(...NEEDED, `User-Agent: ${'x'.repeat(bytes - rest.length)}`)
  }
  expect(read(sized(HEAD_BYTES)).bodyStart).toBe(HEAD_BYTES)
  expect(read(sized(HEAD_BYTES + 1)).bodyStart).toBe(FOREIGN)
  expect(read(sized(HEAD_BYTES + 1).slice(0, HEAD_BYTES - 1)).bodyStart).toBe(INCOMPLETE)
  expect(read(sized(HEAD_BYTES + 1).slice(0, HEAD_BYTES)).bodyStart).toBe(FOREIGN)
})

test('the guide lists the fields', () => {
  const guide = readFileSync(new URL('../../../../../../docs/guides/running-the-service.md', import.meta.url), 'utf8')
  const section = guide.slice(guide.indexOf('## Fast checks'))
  const listed = [...section.matchAll(/`([A-Z][A-Za-z-]+)(?:: [^`]*)?`/g)].map(([, name]) => name.toLowerCase())
  expect(new Set(listed)).toEqual(new Set(FIELD_NAMES))
})
