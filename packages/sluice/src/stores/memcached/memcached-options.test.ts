import { describe, expect, test } from 'vitest'
import { SluiceError } from '../../core/errors.ts'
import { checkMemcachedOptions, type MemcachedStoreOptions } from './memcached-options.ts'

const servers = ['127.0.0.1:11211']

function errorOf(options: unknown): SluiceError {
  try {
    checkMemcachedOptions(options as MemcachedStoreOptions)
  } catch (error) {
    if (error instanceof SluiceError) return error
    throw error
  }
  throw new Error('the options were accepted')
}

test('defaults', () => {
  expect(checkMemcachedOptions({ servers })).toEqual({
    addresses: [{ name: '127.0.0.1:11211', to: { host: '127.0.0.1', port: 11_211 } }],
    prefix: 'sluice',
    auth: undefined,
    tls: undefined,
    clock: undefined,
    connectTimeoutMs: 1000,
    timeoutMs: 1000,
    attempts: 16,
    maxValueBytes: 1_000_000,
    maxCommands: 10_000,
    maxQueuedBytes: 16_777_216,
  })
})

describe('addresses', () => {
  test.each([
    ['cache', 'cache:11211', { host: 'cache', port: 11_211 }],
    ['Cache-1.example.org:1', 'cache-1.example.org:1', { host: 'cache-1.example.org', port: 1 }],
    ['10.0.0.1:65535', '10.0.0.1:65535', { host: '10.0.0.1', port: 65_535 }],
    ['[::1]', '[::1]:11211', { host: '::1', port: 11_211 }],
    ['[FE80::1%eth0]:7', '[fe80::1%eth0]:7', { host: 'fe80::1%eth0', port: 7 }],
    ['unix:/run/Memcached.sock', 'unix:/run/Memcached.sock', { path: '/run/Memcached.sock' }],
  ])('%s', (text, name, to) => {
    expect(checkMemcachedOptions({ servers: [text] }).addresses).toEqual([{ name, to }])
  })

  test.each(
    [
      [
        '',
        'a b',
        'host:',
        'host:0',
        'host:65536',
        'host:1:2',
        '::1',
        'unix:',
        'unix:relative',
        'host\r\nflush_all',
        'tcp://host:1',
      ],
      [
        undefined,
        null,
        42,
        {},
        [],
        true,
        'user:secret@host:11211',
        `unix:/${'x'.repeat(200)}`,
        'x'.repeat(300),
        'unix:/a\u0000b',
      ],
    ].flat(),
  )('%j is none', (text) => {
    const error = errorOf({ servers: [text] })
    expect(error).toMatchObject({ code: 'ERR_OPTION', option: 'servers' })
    expect(JSON.stringify([error.message, error.value])).not.toContain('secret')
  })
})

test.each([
  ['servers', {}],
  ['servers', { servers: [] }],
  ['servers', { servers: 'localhost' }],
  ['servers', { servers: Array.from({ length: 1001 }, (_, i) => `h${i}`) }],
  ['servers', { servers: ['host', 'HOST:11211'] }],
  ['prefix', { servers, prefix: '' }],
  ['prefix', { servers, prefix: 'a b' }],
  ['prefix', { servers, prefix: 'a\r\n' }],
  ['prefix', { servers, prefix: 'é' }],
  ['prefix', { servers, prefix: 'x'.repeat(101) }],
  ['prefix', { servers, prefix: 7 }],
  ['auth', { servers, auth: { username: 'a b', password: 'secret' } }],
  ['auth', { servers, auth: { username: 'a:b', password: 'secret' } }],
  ['auth', { servers, auth: { username: 'a', password: 'secret\r\nflush_all' } }],
  ['auth', { servers, auth: { username: 'a' } }],
  ['tls', { servers, tls: 'yes' }],
  ['tls', { servers, tls: [] }],
  ['tls', { servers, tls: null }],
  ['timeoutMs', { servers, timeoutMs: 0 }],
  ['timeoutMs', { servers, timeoutMs: '100' }],
  ['connectTimeoutMs', { servers, connectTimeoutMs: 600_001 }],
  ['attempts', { servers, attempts: 1.5 }],
  ['maxValueBytes', { servers, maxValueBytes: Number.NaN }],
  ['maxCommands', { servers, maxCommands: -1 }],
  ['maxQueuedBytes', { servers, maxQueuedBytes: Number.POSITIVE_INFINITY }],
  ['colour', { servers, colour: 'red' }],
])('a wrong %s is refused: %j', (option, options) => {
  const error = errorOf(options)
  expect(error).toMatchObject({ code: 'ERR_OPTION', option })
  expect(error.message).not.toContain('secret')
})

test.each([undefined, null, 'localhost', ['localhost']])('options that are no object are refused: %j', (options) => {
  expect(errorOf(options)).toMatchObject({ code: 'ERR_OPTION' })
})
