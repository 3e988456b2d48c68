import { describe, expect, test } from 'vitest'
import { isLocal, isNetwork, type ListenAddress, readListen, showListen } from './addresses.ts'

describe('listen addresses', () => {
  test.each<[string, ListenAddress, boolean]>([
    ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }, true],
    ['127.8.8.8:1', { host: '127.8.8.8', port: 1 }, true],
    ['8080', { host: '127.0.0.1', port: 8080 }, true],
    ['localhost:0', { host: 'localhost', port: 0 }, true],
    ['[::1]:80', { host: '::1', port: 80 }, true],
    ['unix:/run/sluice.sock', { socket: '/run/sluice.sock' }, true],
    ['0.0.0.0:8080', { host: '0.0.0.0', port: 8080 }, false],
    ['[::]:8080', { host: '::', port: 8080 }, false],
    ['10.0.0.1:8080', { host: '10.0.0.1', port: 8080 }, false],
    ['127.example.com:8080', { host: '127.example.com', port: 8080 }, false],
  ])('%s', (text, address, local) => {
    expect(readListen(text)).toEqual(address)
    expect(isLocal(address)).toBe(local)
    expect(readListen(showListen(address))).toEqual(address)
  })

  test.each([
    '',
    ':8080',
    'host:',
    'host:x',
    'host:65536',
    '::1:80',
    '[::g]:80',
    '[1.2.3.4]:80',
    'unix:',
    'http://x:80',
    'a b:80',
  ])('not %s', (text) => {
    expect(readListen(text)).toBeUndefined()
  })
})

test('a network is an address with or without a prefix length', () => {
  for (const text of ['10.0.0.7', '10.0.0.0/8', '::1', 'fd00::/8', '0.0.0.0/0', '::/128']) expect(isNetwork(text)).toBe(true)
  for (const text of ['', 'x', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0/8', '10.0.0.0/-1']) {
    expect(isNetwork(text)).toBe(false)
  }
})
