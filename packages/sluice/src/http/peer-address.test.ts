import { expect, test } from 'vitest'
import { peerAddress } from './peer-address.ts'

const reader = () => peerAddress({ ipv6Prefix: 64, suspicious: [], warn: () => {} })

const peer = (i: number): string => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`

test('a peer that comes again is not read again, and 10,000 peers are kept', () => {
  const read = reader()
  const first = read(peer(0))
  for (let i = 1; i < 10_000; i++) read(peer(i))
  expect(read(peer(0))).toBe(first)
  read(peer(10_000))
  expect(read(peer(0))).not.toBe(first)
  expect(read(peer(0)).key).toBe('10.0.0.0')
})

test('a peer without an address is one client', () => {
  const read = reader()
  expect([read(undefined).key, read(null).key, read('').key, read('junk').key]).toEqual(Array(4).fill('unknown'))
})
