// The protocol of Redis, byte by byte: cut anywhere, hostile, and at its bounds.

import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { connect } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { LONGEST_ARGUMENT, LONGEST_LINE, MOST_ARGUMENTS } from '../../src/doors/resp/limits.ts'
import { certificate } from '../certificate.ts'
import { Bare, command, startResp } from './resp-service.ts'

const setUp = () => startResp({ flags: { keysRequired: 'false' } })

describe('commands', () => {
  test('have the answers of Redis', async () => {
    const bare = await (await setUp()).open()
    const answers: readonly (readonly [string, string])[] = [
      [command('PING'), '+PONG\r\n'],
      [command('ping', 'hi\r\n'), '$4\r\nhi\r\n\r\n'],
      [command('ECHO', ''), '$0\r\n\r\n'],
      [command('ECHO'), "-ERR wrong number of arguments for 'echo' command\r\n"],
      [command('SELECT', 0), '+OK\r\n'],
      [command('SELECT', 1), '-ERR DB index is out of range\r\n'],
      [command('SELECT', 'x'), '-ERR value is not an integer or out of range\r\n'],
      [command('CLIENT', 'GETNAME'), '$-1\r\n'],
      [command('CLIENT', 'SETNAME', 'me'), '+OK\r\n'],
      [command('CLIENT', 'GETNAME'), '$2\r\nme\r\n'],
      [command('CLIENT', 'SETNAME', 'a b'), '-ERR Client names cannot contain spaces, newlines or special characters.\r\n'],
      [command('CLIENT', 'SETINFO', 'LIB-NAME', 'x'), '+OK\r\n'],
      [command('HELLO', 4), '-NOPROTO unsupported protocol version\r\n'],
      [command('HELLO', 'x'), '-ERR Protocol version is not an integer or out of range\r\n'],
      [command('HELLO', 3, 'NOSUCH'), "-ERR Syntax error in HELLO option 'NOSUCH'\r\n"],
      [command('GET', 'a', 'b\r\n-c'), "-ERR unknown command 'GET', with args beginning with: 'a' 'b??-c' \r\n"],
      [command('COMMAND', 'INFO', 'nosuch'), '*1\r\n$-1\r\n'],
      ['PING\r\n', '+PONG\r\n'],
      ['PING\n', '+PONG\r\n'],
      [' PING  "a\\x41\\n"  \r\n', '$3\r\naA\n\r\n'],
      ["ECHO 'it\\'s'\r\n", "$4\r\nit's\r\n"],
      ['\r\n\r\n*0\r\n*-1\r\nPING\r\n', '+PONG\r\n'],
      [command('RESET'), '+RESET\r\n'],
      [command('CLIENT', 'GETNAME'), '$-1\r\n'],
    ]
    for (const [sent, answer] of answers) await bare.ask(sent, answer)
    await bare.ask(answers.map(([sent]) => sent).join(''), answers.map(([, answer]) => answer).join(''))
  })

  test('in RESP3 have its types', async () => {
    const bare = await (await setUp()).open()
    expect((await bare.lines(command('HELLO', 3), 26))[0]).toBe('%7')
    await bare.ask(command('CLIENT', 'GETNAME'), '_\r\n')
    expect(await bare.lines(command('SLUICE.CHECK', 'ada', '/', 101), 2)).toEqual(['%8', '$6'])
    expect((await bare.lines('', 17)).slice(-5)).toEqual(['$9', 'retryable', '#f', '$14', 'retry_after_ms'])
    await bare.expect('_\r\n$6\r\npolicy\r\n$7\r\ndefault\r\n$4\r\nrule\r\n')
  })

  test('after RESET in a pipeline have the types of RESP2 again', async () => {
    const bare = await (await setUp()).open()
    await bare.lines(command('HELLO', 3), 26)
    const getName = command('CLIENT', 'GETNAME')
    await bare.ask(getName + command('RESET') + getName, '_\r\n+RESET\r\n$-1\r\n')
  })

  test('are answered before the connection closes after QUIT; later ones do nothing', async () => {
    const { open } = await setUp()
    const bare = await open()
    bare.send(command('PING') + command('CL.THROTTLE', 'q', 1, 1, 60) + command('QUIT') + command('CL.THROTTLE', 'q', 1, 1, 60))
    expect(await bare.end()).toBe('+PONG\r\n*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:60\r\n+OK\r\n')
    await (await open()).ask(command('CL.THROTTLE', 'q', 1, 1, 60, 0), '*5\r\n:0\r\n:2\r\n:1\r\n:-1\r\n:60\r\n')
  })

  test('that arrived before the client ended its side are answered', async () => {
    const bare = await (await setUp()).open()
    bare.socket.end(command('PING') + command('PING'), 'latin1')
    expect(await bare.end()).toBe('+PONG\r\n+PONG\r\n')
  })

  test('over TLS that arrived before the client ended its side are answered', async () => {
    const { cert, key: tlsKey } = certificate()
    const { port } = await startResp({ flags: { keysRequired: 'false', tlsCert: cert, tlsKey } })
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const bare = new Bare(socket)
    socket.end(command('PING') + command('PING'), 'latin1')
    expect(await bare.end()).toBe('+PONG\r\n+PONG\r\n')
  })
})

describe('bytes', () => {
  const SENT = [
    command('PING'),
    command('CL.THROTTLE', 'cut', 15, 30, 60, 0),
    'PING "a b"\r\n',
    command('ECHO', 'x'.repeat(40)),
    command('NOSUCH', 'a'),
    '\r\n',
    command('CL.THROTTLE', 'cut', 'x', 30, 60),
  ].join('')
  const ANSWER = [
    '+PONG\r\n',
    '*5\r\n:0\r\n:16\r\n:16\r\n:-1\r\n:0\r\n',
    '$3\r\na b\r\n',
    `$40\r\n${'x'.repeat(40)}\r\n`,
    "-ERR unknown command 'NOSUCH', with args beginning with: 'a' \r\n",
    "-Cell error: Couldn't parse as integer: x\r\n",
  ].join('')

  test('may be cut anywhere', async () => {
    const bare = await (await setUp()).open()
    for (let cut = 0; cut <= SENT.length; cut++) {
      bare.send(SENT.slice(0, cut))
      await turn()
      await turn()
      await bare.ask(SENT.slice(cut), ANSWER)
    }
  })

  test('may come one by one', async () => {
    const bare = await (await setUp()).open()
    for (const byte of SENT) {
      bare.send(byte)
      await turn()
    }
    await bare.expect(ANSWER)
  })

  const long = 'x'.repeat(LONGEST_ARGUMENT)
  test.each([
    ['*1\r\n+PING\r\n', "expected '$', got '+'"],
    ['*1\r\n\r\n', "expected '$', got '?'"],
    ['*x\r\n', 'invalid multibulk length'],
    ['*1x\r\n', 'invalid multibulk length'],
    ['*\r\n', 'invalid multibulk length'],
    ['*1\rx', 'invalid multibulk length'],
    [`*${MOST_ARGUMENTS + 1}\r\n`, 'invalid multibulk length'],
    [`*${'1'.repeat(30)}`, 'invalid multibulk length'],
    ['*99999999999999999\r\n', 'invalid multibulk length'],
    ['*1\r\n$-1\r\n', 'invalid bulk length'],
    [`*1\r\n$${LONGEST_ARGUMENT + 1}\r\n`, 'invalid bulk length'],
    ['*1\r\n$ 4\r\nPING\r\n', 'invalid bulk length'],
    ['*1\r\n$4\r\nPING\n\n', 'expected CRLF after an argument'],
    [`*3\r\n${`$${long.length}\r\n${long}\r\n`.repeat(2)}$5\r\n`, 'too big command'],
    ['PING "a\r\n', 'unbalanced quotes in request'],
    ['PING "a"b\r\n', 'unbalanced quotes in request'],
    ['x'.repeat(LONGEST_LINE + 1), 'too big inline request'],
    ['POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n', 'this is HTTP'],
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(LONGEST_LINE + 1, '\x16'), 'too big inline request'],
  ])('%j are a protocol error, after the answers that are due', async (sent, problem) => {
    const { open } = await setUp()
    const bare = await open()
    bare.send(command('PING') + sent + command('PING'))
    expect(await bare.end()).toBe(`+PONG\r\n-ERR Protocol error: ${problem}\r\n`)
    await (await open()).ask(command('PING'), '+PONG\r\n')
  })

  test('of a request of a browser do nothing', async () => {
    const { open } = await setUp()
    const bare = await open()
    bare.send('GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nCL.THROTTLE web 0 1 60\r\n')
    expect(await bare.end()).toMatch(/^-ERR unknown command 'GET'.*\r\n-ERR Protocol error: this is HTTP\r\n$/)
    await (await open()).ask(command('CL.THROTTLE', 'web', 0, 1, 60), '*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:60\r\n')
  })

  test('at random never stop the service, and never get an answer that is not RESP', async () => {
    const { open } = await setUp()
    let state = 7
    const whole = (most: number): number => {
      state = (state * 48_271) % 2_147_483_647
      return state % most
    }
    const pieces = [
      '*',
      '$',
      '\r\n',
      '1',
      '4',
      '-',
      'PING',
      'CL.THROTTLE',
      '\0',
      '"',
      "'",
      ' ',
      '\xff',
      '\n',
      command('PING'),
      ':',
      '65536',
    ]
    for (let round = 0; round < 60; round++) {
      const bare = await open()
      bare.socket.end(Array.from({ length: 40 }, () => pieces[whole(pieces.length)]).join(''), 'latin1')
      for (const line of (await bare.end()).split('\r\n')) expect(line).toMatch(/^(?:[+*:$-].*|PING|.*)$/s)
    }
    await (await open()).ask(command('PING'), '+PONG\r\n')
  })
})

test('a client that does not read is not read from, and gets everything once it reads', async () => {
  const bare = await (await setUp()).open()
  const text = 'x'.repeat(30_000)
  const count = 2000
  bare.socket.pause()
  for (let i = 0; i < count; i++) bare.send(command('ECHO', text))
  const handedOver = (): number => bare.socket.bytesWritten - bare.socket.writableLength
  let [before, still] = [-1, 0]
  // The kernel's buffers fill, then nothing moves any more.
  while (still < 20) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    still = handedOver() === before ? still + 1 : 0
    before = handedOver()
  }
  expect(handedOver()).toBeLessThan(40_000_000)
  bare.socket.resume()
  const answer = `$${text.length}\r\n${text}\r\n`
  for (let i = 0; i < count; i++) await bare.expect(answer)
})
