// Requests that parsers have disagreed about: lengths, chunks, line ends, names, request lines. Each is followed by a well-formed check,
// which one parser may take for a body and another for a request.

export interface CorpusCase {
  readonly name: string
  readonly text: string
}

export interface CheckText {
  readonly key: string
  readonly id: string
}

/** A well-formed check. `fields` stand before its length. */
export function checkText({ key, id }: CheckText, ...fields: string[]): string {
  const body = bodyOf(id)
  return requestText(key, id, [...fields, `Content-Length: ${body.length}`], body)
}

/** Two ids, so that a request whose one id is damaged is still counted by itself. */
function bodyOf(id: string): string {
  return JSON.stringify({ client_id: `client-${id}`, route: `/route-${id}` })
}

/** The forwarded address is that of one client, so that failures of keys are limited for each request by itself. */
function requestText(key: string, id: string, fields: readonly string[], body: string): string {
  const address = `10.${Number(id) >> 16}.${(Number(id) >> 8) & 255}.${Number(id) & 255}`
  const head = ['Host: 127.0.0.1', `X-Forwarded-For: ${address}`, `Api-Key: ${key}`, 'Content-Type: application/json', ...fields]
  return `POST /v1/check HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`
}

/** `idOf` returns a new id at each call. */
export function smugglingCorpus(key: string, idOf: () => string): readonly CorpusCase[] {
  const cases: CorpusCase[] = []
  const add = (name: string, make: (id: string) => string): void => {
    const text = make(idOf()) + checkText({ key, id: idOf() })
    cases.push({ name, text })
  }
  const length = (id: string) => bodyOf(id).length
  const withFields = (name: string, ...fields: ((id: string) => string)[]) =>
    add(name, (id) =>
      requestText(
        key,
        id,
        fields.map((field) => field(id)),
        bodyOf(id),
      ),
    )
  const changed = (name: string, from: string | RegExp, to: string) => add(name, (id) => checkText({ key, id }).replace(from, to))
  const added = (field: string) => add(`with ${JSON.stringify(field)}`, (id) => checkText({ key, id }, field))
  const chunked = (id: string) => `${length(id).toString(16)}\r\n${bodyOf(id)}\r\n0\r\n\r\n`

  add('a plain check', (id) => checkText({ key, id }))
  for (const write of [
    (n: number) => ` ${n}`,
    (n: number) => `${n} `,
    (n: number) => `\t${n}`,
    (n: number) => `+${n}`,
    (n: number) => `-${n}`,
    (n: number) => `0${n}`,
    (n: number) => `0x${n.toString(16)}`,
    (n: number) => `${n}.0`,
    (n: number) => `${n},${n}`,
    (n: number) => `${n}, ${n + 1}`,
    (n: number) => `${n}\r\n ${n}`,
    (n: number) => `${n}\r\n\t`,
    (n: number) => `${n}\0`,
    (n: number) => `"${n}"`,
    (n: number) => `${n};a=b`,
    (n: number) => `1e2${n}`,
    (n: number) => `${n - 1}`,
    (n: number) => `${n + 1}`,
    (n: number) => `${n + 400}`,
    () => '0',
    () => '',
    () => '16385',
    () => '999999999999999999999',
    () => '18446744073709551616',
  ]) {
    add(`Content-Length: ${JSON.stringify(write(65))}`, (id) =>
      requestText(key, id, [`Content-Length: ${write(length(id))}`], bodyOf(id)),
    )
  }
  withFields('two equal lengths', (id) => `Content-Length: ${length(id)}\r\nContent-Length: ${length(id)}`)
  withFields('two lengths', (id) => `Content-Length: ${length(id)}\r\nContent-Length: 5`)
  withFields('two lengths in other letters', (id) => `content-length: 5\r\nCONTENT-LENGTH: ${length(id)}`)
  withFields('no length')
  for (const coding of [
    'Transfer-Encoding: chunked',
    'transfer-encoding: chunked',
    'Transfer-Encoding: Chunked',
    'Transfer-Encoding:chunked',
    'Transfer-Encoding : chunked',
    'Transfer-Encoding:  chunked',
    'Transfer-Encoding:\tchunked',
    'Transfer-Encoding:\x0bchunked',
    'Transfer-Encoding: \x00chunked',
    'Transfer-Encoding: xchunked',
    'Transfer-Encoding: chunked, identity',
    'Transfer-Encoding: identity',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
    'Transfer-Encoding:\r\n chunked',
    ' Transfer-Encoding: chunked',
    'X: y\r\n Transfer-Encoding: chunked',
    'X: y\nTransfer-Encoding: chunked',
    'X: y\rTransfer-Encoding: chunked',
    'Transfer-Encoding\r\n: chunked',
    'Transfer_Encoding: chunked',
    'Accept: */*\nTransfer-Encoding: chunked',
    'Accept: */*\rTransfer-Encoding: chunked',
    'Accept: */*\r\n\tTransfer-Encoding: chunked',
  ]) {
    const name = JSON.stringify(coding)
    add(`${name} alone`, (id) => requestText(key, id, [coding], chunked(id)))
    add(`${name} and a length`, (id) => requestText(key, id, [coding, `Content-Length: ${chunked(id).length}`], chunked(id)))
    add(`a length and ${name}`, (id) => requestText(key, id, [`Content-Length: ${length(id)}`, coding], bodyOf(id)))
  }
  for (const field of [
    'Connection: close',
    'Connection: Close',
    'Connection: keep-alive',
    'Connection: Keep-Alive',
    'Connection: keep-alive, close',
    'Connection: close, keep-alive',
    'Connection: Content-Length',
    'Connection: upgrade\r\nUpgrade: h2c',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
    'Proxy-Connection: keep-alive',
    'Keep-Alive: timeout=1',
    'Expect: 100-continue',
    'Expect: other',
    'TE: trailers',
    'Trailer: Content-Length',
    'Upgrade: websocket',
    'Cookie: sluice_session=abc',
    'Authorization: Bearer wrong',
    'Authorization: Basic YTpi',
    'Host: other',
    'host: 127.0.0.1',
    'Api-Key: other',
    'Api_Key: other',
    'Content-Type: text/plain',
    'Content-Encoding: gzip',
    'Origin: https://other.example',
    'Sec-Fetch-Site: cross-site',
    'X-Original-Uri: /other',
    'X-Forwarded-Uri: /other',
    'User-Agent: caf\xe9',
    'User-Agent: a\tb',
    'User-Agent: ',
    'User-Agent:',
    'User-Agent:x',
    'User-Agent: x ',
    'User-Agent: \x7f',
    'User-Agent: \x01',
    'User-Agent: x\0',
    'User-Agent : x',
    'User Agent: x',
    'User-Agent',
    ': x',
    '(): x',
    `User-Agent: ${'x'.repeat(7000)}`,
    `User-Agent: ${'x'.repeat(9000)}`,
    `User-Agent: ${'x'.repeat(17_000)}`,
  ])
    added(field)
  changed('no host', /Host: .*\r\n/, '')
  changed('no key', /Api-Key: .*\r\n/, '')
  changed('no type', /Content-Type: .*\r\n/, '')
  changed('another type', 'application/json', 'text/plain')
  changed('a type with a parameter', 'application/json', 'application/json; charset=utf-8')
  changed('a type with a space', 'application/json', 'application/json ;charset=utf-8')
  changed('a key as Bearer', 'Api-Key: ', 'Authorization: Bearer ')
  changed('a wrong key', /Api-Key: .*\r\n/, 'Api-Key: sluice_wrong\r\n')
  changed('an empty key', /Api-Key: .*\r\n/, 'Api-Key: \r\n')
  for (const line of [
    'POST /v1/check HTTP/1.0',
    'POST /v1/check HTTP/1.2',
    'POST /v1/check HTTP/2.0',
    'POST /v1/check HTTP/0.9',
    'POST /v1/check http/1.1',
    'POST /v1/check HTTP/1.1 ',
    'POST /v1/check  HTTP/1.1',
    'POST  /v1/check HTTP/1.1',
    ' POST /v1/check HTTP/1.1',
    '\r\nPOST /v1/check HTTP/1.1',
    '\nPOST /v1/check HTTP/1.1',
    'POST\t/v1/check HTTP/1.1',
    'POST /v1/check',
    'post /v1/check HTTP/1.1',
    'PUT /v1/check HTTP/1.1',
    'GET /v1/check HTTP/1.1',
    'HEAD /v1/check HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'CONNECT /v1/check HTTP/1.1',
    'PRI * HTTP/2.0',
    'POST /v1/check/ HTTP/1.1',
    'POST /v1/check? HTTP/1.1',
    'POST /v1/check?a=b HTTP/1.1',
    'POST /v1/check#a HTTP/1.1',
    'POST /v1/chec%6B HTTP/1.1',
    'POST //v1/check HTTP/1.1',
    'POST /./v1/check HTTP/1.1',
    'POST http://127.0.0.1/v1/check HTTP/1.1',
    'POST /v1/check/batch HTTP/1.1',
    'POST /v1/check\0 HTTP/1.1',
    'POST /v1/ch\xe9ck HTTP/1.1',
  ]) {
    changed(`the line ${JSON.stringify(line)}`, 'POST /v1/check HTTP/1.1', line)
  }
  changed('line feeds only', /\r\n/g, '\n')
  changed('carriage returns only', /\r\n/g, '\r')
  changed('a line feed at the end of the head', '\r\n\r\n', '\r\n\n')
  changed('a space after the head', '\r\n\r\n', '\r\n \r\n')
  changed('a carriage return too many', '\r\n\r\n', '\r\r\n\r\n')
  for (const body of [
    '',
    '{',
    '[]',
    'null',
    '{"client_id":"a"}',
    '{"client_id":"a","route":"/a","cost":-1}',
    '{"client_id":"a\\ud800","route":"/a"}',
    '{"client_id":"\xff","route":"/a"}',
    '[[[[[[[[[[]]]]]]]]]]',
  ]) {
    add(`the body ${JSON.stringify(body)}`, (id) => requestText(key, id, [`Content-Length: ${body.length}`], body))
  }
  add('a body of the most bytes', (id) => {
    const body = bodyOf(id).padEnd(16_384)
    return requestText(key, id, [`Content-Length: ${body.length}`], body)
  })
  add('a body of one byte more', (id) => {
    const body = bodyOf(id).padEnd(16_385)
    return requestText(key, id, [`Content-Length: ${body.length}`], body)
  })
  add('not HTTP', () => 'hello\r\n\r\n')
  add('TLS', () => '\x16\x03\x01\x02\x00\x01\x00')
  add('an empty line between two checks', (id) => `${checkText({ key, id })}\r\n`)
  add('other requests between checks', (id) => `${checkText({ key, id })}GET /livez HTTP/1.1\r\nHost: x\r\n\r\n`)
  return cases
}
