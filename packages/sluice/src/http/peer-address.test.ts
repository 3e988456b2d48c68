import { expect, test, vi } from 'vitest'
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

test.each([
  [100, 1],
  [101, 0],
  [128, 1],
  [64_000, 1],
])('request %i of a peer is the first with the header of a proxy: %i warnings', (at, warnings) => {
  const warn = vi.fn()
  const read = peerAddress({ ipv6Prefix: 64, suspicious: ['x-forwarded-for'], warn })
  const header = { 'x-forwarded-for': '203.0.113.9' }
  for (let i = 1; i < at; i++) read(peer(0), {})
  read(peer(0), header)
  expect(warn).toHaveBeenCalledTimes(warnings)
  read(peer(1), header)
  expect(warn).toHaveBeenCalledOnce()
})

test('a proxy that checked the health of the server 10,000 times is found with its 64th request of a client at the latest', () => {
  const warn = vi.fn()
  const read = peerAddress({ ipv6Prefix: 64, suspicious: ['x-forwarded-for'], warn })
  for (let i = 0; i < 10_000; i++) read(peer(0), {})
  for (let i = 0; i < 64; i++) read(peer(0), { 'x-forwarded-for': '203.0.113.9' })
  expect(warn).toHaveBeenCalledOnce()
})
