// API keys over RESP: who may ask, from when on, and until when.

import { describe, expect, test } from 'vitest'
import { LONGEST_FIRST_COMMAND } from '../../src/doors/resp/limits.ts'
import { advance } from '../running-service.ts'
import { Bare, command, startResp } from './resp-service.ts'

const NOAUTH = '-NOAUTH Authentication required.\r\n'
const WRONGPASS = '-WRONGPASS invalid username-password pair or user is disabled.\r\n'
const ALLOWED = '*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n'

describe('where keys are required', () => {
  test('nothing is answered before AUTH, except what Redis answers', async () => {
    const bare = await (await startResp()).open({ auth: false })
    for (const args of [
      ['PING'],
      ['CL.THROTTLE', 'a', 15, 30, 60],
      ['SLUICE.CHECK', 'a', '/'],
      ['COMMAND'],
      ['CLIENT', 'ID'],
      ['INFO'],
    ]) {
      await bare.ask(command(...args), NOAUTH)
    }
    expect((await bare.lines(command('HELLO', 3), 1))[0]).toMatch(
      /^-NOAUTH HELLO must be called with the client already authenticated/,
    )
    await bare.ask(command('NOSUCH'), "-ERR unknown command 'NOSUCH', with args beginning with: \r\n")
    await bare.ask(command('RESET'), '+RESET\r\n')
    await bare.ask(command('QUIT'), '+OK\r\n')
    await bare.end()
  })

  test('a long command is refused before it has arrived, and taken after AUTH', async () => {
    const { open } = await startResp()
    const long = command('ECHO', 'x'.repeat(LONGEST_FIRST_COMMAND))
    const stranger = await open({ auth: false })
    stranger.send(long.slice(0, 30))
    expect(await stranger.end()).toBe('-ERR Protocol error: too big command\r\n')
    const known = await open()
    await known.ask(long, long.slice(long.indexOf('$4096')))
  })

  test('AUTH takes a key with or without a user name; HELLO takes one too', async () => {
    const { open, key } = await startResp()
    for (const auth of [
      ['AUTH', key],
      ['auth', 'default', key],
    ]) {
      const bare = await open({ auth: false })
      await bare.ask(command(...auth), '+OK\r\n')
      await bare.ask(command('PING'), '+PONG\r\n')
    }
    const bare = await open({ auth: false })
    bare.send(command('HELLO', 2, 'AUTH', 'default', key, 'SETNAME', 'me'))
    expect(await bare.lines('', 1)).toEqual(['*14'])
  })

  test('a wrong key leaves the session as it was', async () => {
    const bare = await (await startResp()).open()
    await bare.ask(command('AUTH', 'wrong'), WRONGPASS)
    await bare.ask(command('PING'), '+PONG\r\n')
  })

  test('RESET forgets the key', async () => {
    const bare = await (await startResp()).open()
    await bare.ask(command('RESET'), '+RESET\r\n')
    await bare.ask(command('PING'), NOAUTH)
  })

  test('a key that is revoked does nothing from that moment on, on an open connection too', async () => {
    const { open, call } = await startResp()
    const { body } = await call('POST', '/v1/keys', { name: 'app', scopes: ['check'] })
    const bare = await open({ auth: false })
    await bare.ask(command('AUTH', body.data.secret), '+OK\r\n')
    await bare.ask(command('CL.THROTTLE', 'a', 15, 30, 60), ALLOWED)
    await call('DELETE', `/v1/keys/${body.data.key.id}`)
    await bare.ask(command('CL.THROTTLE', 'a', 15, 30, 60), NOAUTH)
  })

  test('a key that expires does nothing from that moment on', async () => {
    const { open, call } = await startResp()
    const expires_at = new Date(Date.now() + 60_000).toISOString()
    const { body } = await call('POST', '/v1/keys', { name: 'app', scopes: ['check'], expires_at })
    const bare = await open({ auth: false })
    await bare.ask(command('AUTH', body.data.secret), '+OK\r\n')
    advance(59_999)
    await bare.ask(command('PING'), '+PONG\r\n')
    advance(1)
    await bare.ask(command('PING'), NOAUTH)
  })

  test('checks need the scope check', async () => {
    const { open, call } = await startResp()
    const { body } = await call('POST', '/v1/keys', { name: 'viewer', scopes: ['read'] })
    const bare = await open({ auth: false })
    await bare.ask(command('AUTH', body.data.secret), '+OK\r\n')
    await bare.ask(command('PING'), '+PONG\r\n')
    for (const args of [
      ['CL.THROTTLE', 'a', 15, 30, 60],
      ['SLUICE.CHECK', 'a', '/'],
      ['SLUICE.RESERVE', 'a', '/'],
      ['SLUICE.SETTLE', 'x'],
    ]) {
      expect((await bare.lines(command(...args), 1))[0]).toMatch(
        /^-NOPERM this needs a key with the scope check: the key \w+ has read$/,
      )
    }
  })

  test('an address that fails too often is refused and disconnected, on all doors together; a valid key still passes', async () => {
    const { open, call, key } = await startResp()
    const guess = { client_id: 'a', route: '/' }
    for (let i = 0; i < 10; i++) expect((await call('POST', '/v1/check', guess, { 'api-key': 'wrong' })).status).toBe(401)
    const bare = await open({ auth: false })
    for (let i = 0; i < 10; i++) await bare.ask(command('AUTH', `wrong-${i}`), WRONGPASS)
    bare.send(command('AUTH', 'once-more') + command('PING'))
    expect(await bare.end()).toBe('-ERR too many requests without a valid API key came from this address\r\n')
    expect((await call('POST', '/v1/check', guess, { 'api-key': 'wrong' })).status).toBe(429)
    const valid = await open({ auth: false })
    await valid.ask(command('AUTH', key), '+OK\r\n')
    const { body } = await call('GET', '/metrics')
    expect(body).toContain('sluice_failed_authentications_total{answer="limited"} 2\n')
  })
})

test('where no keys are required, AUTH is accepted and checks need none', async () => {
  const { port } = await startResp({ flags: { keysRequired: 'false' } })
  const bare = await Bare.open(port)
  await bare.ask(command('CL.THROTTLE', 'a', 15, 30, 60), ALLOWED)
  await bare.ask(command('AUTH', 'anything'), '+OK\r\n')
})

test('an address that others can reach is refused without keys', async () => {
  await expect(startResp({ flags: { keysRequired: 'false', resp: '0.0.0.0:0' } })).rejects.toThrow(
    /resp is 0\.0\.0\.0:0, which others can reach/,
  )
})
