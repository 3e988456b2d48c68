import { BlockList } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatAddress } from './address.ts'
import { cidrList } from './cidr-list.ts'
import { clientAddress } from './client-address.ts'

test.each([
  ['10.0.0.0/8', '10.255.0.1', true],
  ['10.0.0.0/8', '11.0.0.0', false],
  ['10.0.0.0/8', '::ffff:10.1.2.3', true],
  ['10.1.2.3/8', '10.9.9.9', true],
  ['192.168.0.1', '192.168.0.1', true],
  ['192.168.0.1', '192.168.0.2', false],
  ['192.168.0.1/32', '192.168.0.1', true],
  ['0.0.0.0/0', '203.0.113.9', true],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['::/0', '2001:db8::1', true],
  ['::/0', '203.0.113.9', false],
  ['2001:db8::/32', '2001:DB8:ffff::1', true],
  ['2001:db8::/32', '2001:db9::1', false],
  ['2001:db8::/33', '2001:db8:7fff::1', true],
  ['2001:db8::/33', '2001:db8:8000::1', false],
  ['::1', '::1', true],
  ['::1', '0:0:0:0:0:0:0:1', true],
  ['fe80::/10', 'fe80::1%eth0', true],
  ['::ffff:10.0.0.0/104', '10.1.2.3', true],
  ['::ffff:10.0.0.0/104', '11.1.2.3', false],
  ['::ffff:10.0.0.1', '10.0.0.1', true],
  ['::ffff:0:0/96', '203.0.113.9', true],
  ['64:ff9b::/96', '64:ff9b::1.2.3.4', true],
  ['64:ff9b::/96', '1.2.3.4', false],
  ['1.2.3.4', '64:ff9b::1.2.3.4', false],
  ['10.0.0.0/8', 'unknown', false],
  ['10.0.0.0/8', '', false],
  ['10.0.0.0/8', '10.0.0.1:80', false],
])('%s has %s: %s', (network, address, expected) => {
  expect(cidrList([network]).has(address)).toBe(expected)
})

test('a list has what any of its networks has, and an empty one has nothing', () => {
  const list = cidrList(['10.0.0.0/8', '192.168.0.0/16', '10.0.0.0/16', '2001:db8::/32'])
  expect(['10.0.0.1', '10.200.0.1', '192.168.3.4', '2001:db8::5'].every((address) => list.has(address))).toBe(true)
  expect(['11.0.0.1', '192.169.0.1', '2001:db9::'].some((address) => list.has(address))).toBe(false)
  expect(cidrList([]).has('10.0.0.1')).toBe(false)
})

test('a client is looked up by its whole address, not by its key', () => {
  const list = cidrList(['2001:db8::5'])
  const read = clientAddress()
  expect(list.has(read('2001:db8::5'))).toBe(true)
  expect(list.has(read('2001:db8::6'))).toBe(false)
  expect(list.has(read(undefined))).toBe(false)
})

// The families are tested one by one, because node:net finds IPv4 addresses in ::/0 as well.
const families = {
  ipv4: fc.uint8Array({ minLength: 4, maxLength: 4 }),
  ipv6: fc.uint8Array({ minLength: 13, maxLength: 13 }).map((rest) => Uint8Array.from([0x20, 1, 0xd, ...rest])),
}

test.each(['ipv4', 'ipv6'] as const)('node:net agrees about %s', (family) => {
  const bytes = families[family]
  const bits = family === 'ipv4' ? 32 : 128
  const networks = fc.array(fc.record({ address: bytes, length: fc.nat(bits) }), { maxLength: 8 })
  fc.assert(
    fc.property(networks, bytes, fc.option(fc.nat(bits - 1)), (list, any, bit) => {
      // An address of the first network, or any address if the list is empty. One of its bits may be changed.
      const asked = (list[0]?.address ?? any).slice()
      if (bit !== null) asked[bit >> 3] ^= 0x80 >> (bit & 7)
      const theirs = new BlockList()
      for (const { address, length } of list) theirs.addSubnet(formatAddress(address), length, family)
      const ours = cidrList(list.map(({ address, length }) => `${formatAddress(address)}/${length}`))
      expect(ours.has(formatAddress(asked))).toBe(theirs.check(formatAddress(asked), family))
    }),
    { numRuns: 500 },
  )
})

test.each([
  ['10.0.0.0/33', /must be \/0 to \/32 .* got "10\.0\.0\.0\/33"/],
  ['2001:db8::/129', /must be \/0 to \/128/],
  ['::ffff:10.0.0.0/8', /must be \/96 to \/128/],
  ['10.0.0.0/', /must be \/0 to \/32/],
  ['10.0.0.0/-1', /must be \/0 to \/32/],
  ['10.0.0.0/8.5', /must be \/0 to \/32/],
  ['10.0.0.0/1e1', /must be \/0 to \/32/],
  ['10.0.0.0/8/8', /must be an address .* got "10\.0\.0\.0\/8\/8"/],
  ['10.0.0/8', /must be an address/],
  ['loopback', /must be an address/],
  ['', /must be an address/],
  [undefined, /must be an address .* got undefined/],
])('%j is refused', (network, message) => {
  expect(() => cidrList([network as string])).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION', message: expect.stringMatching(message) }),
  )
})

test('what is not a list is refused', () => {
  expect(() => cidrList('10.0.0.0/8' as never)).toThrow(/cidrList takes a list .* got "10\.0\.0\.0\/8"/)
})

describe('addresses behind a translator', () => {
  const blocked = ['198.51.100.0/24', '203.0.113.9']

  test('are looked up as they are, unless a prefix is given', () => {
    expect(cidrList(blocked).has('64:ff9b::198.51.100.7')).toBe(false)
    expect(cidrList(['64:ff9b::/96']).has('64:ff9b::198.51.100.7')).toBe(true)
  })

  test('are looked up by the IPv4 address that they carry, for every length of a prefix', () => {
    // The examples of RFC 6052, section 2.4, for 192.0.2.33.
    const examples = [
      ['2001:db8::/32', '2001:db8:c000:221::'],
      ['2001:db8:100::/40', '2001:db8:1c0:2:21::'],
      ['2001:db8:122::/48', '2001:db8:122:c000:2:2100::'],
      ['2001:db8:122:300::/56', '2001:db8:122:3c0:0:221::'],
      ['2001:db8:122:344::/64', '2001:db8:122:344:c0:2:2100::'],
      ['2001:db8:122:344::/96', '2001:db8:122:344::192.0.2.33'],
      ['64:ff9b::/96', '64:ff9b::192.0.2.33'],
    ]
    for (const [prefix, address] of examples) {
      expect(cidrList(['192.0.2.33'], { nat64: [prefix] }).has(address), prefix).toBe(true)
      expect(cidrList(['192.0.2.34'], { nat64: [prefix] }).has(address), prefix).toBe(false)
    }
  })

  test('only under the prefixes that are given', () => {
    const list = cidrList(blocked, { nat64: ['64:ff9b::/96', '64:ff9b:1:fffe::/96'] })
    expect(list.has('64:ff9b:1:fffe::203.0.113.9')).toBe(true)
    expect(list.has('64:ff9b:1:ffff::203.0.113.9')).toBe(false)
    expect(list.has('2001:db8::203.0.113.9')).toBe(false)
    expect(list.has('64:ff9b::203.0.113.10')).toBe(false)
    expect(list.has('203.0.113.9')).toBe(true)
  })

  test.each([['64:ff9b::/95'], ['10.0.0.0/8'], ['64:ff9b::'], ['::ffff:10.0.0.0/104'], [7]])(
    '%s is no prefix of one',
    (prefix) => {
      expect(() => cidrList([], { nat64: [prefix as string] })).toThrow(/ERR_OPTION|nat64|network/)
    },
  )

  test('what is no list, or no option, is refused', () => {
    expect(() => cidrList([], { nat64: '64:ff9b::/96' as never })).toThrow(/takes a list/)
    expect(() => cidrList([], { nat46: [] } as never)).toThrow(/has no option "nat46": there is .*nat64/)
  })
})
