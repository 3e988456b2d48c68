import fc from 'fast-check'
import { Address4, Address6 } from 'ip-address'
import ipaddr from 'ipaddr.js'
import { describe, expect, test } from 'vitest'
import { formatAddress, networkOf, parseAddress } from './address.ts'

const ipv4 = fc.uint8Array({ minLength: 4, maxLength: 4 })

/** Bytes with runs of zeros and well-known beginnings, where spellings differ most. */
const ipv6 = fc
  .tuple(
    fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.nat(0xffff)), { minLength: 8, maxLength: 8 }),
    fc.constantFrom([], [0, 0, 0, 0, 0, 0xffff], [0x64, 0xff9b, 0, 0, 0, 0], [0xfe80, 0, 0, 0], [0x2001, 0xdb8]),
  )
  .map(([groups, start]) => Uint8Array.from([...start, ...groups].slice(0, 8).flatMap((group) => [group >> 8, group & 255])))

/** One of the spellings of 16 bytes: capitals, leading zeros, any run of zeros as `::`, IPv4 at the end, a zone. */
const spelled = fc
  .record({
    bytes: ipv6,
    capitals: fc.boolean(),
    zeros: fc.boolean(),
    dotted: fc.boolean(),
    gap: fc.tuple(fc.nat(7), fc.integer({ min: 1, max: 8 })),
    zone: fc.constantFrom('', '%eth0', '%25', '%a:b.c'),
  })
  .map(({ bytes, capitals, zeros, dotted, gap: [at, length], zone }) => {
    const groups = Array.from({ length: 8 }, (_, i) => (bytes[i * 2] << 8) | bytes[i * 2 + 1])
    const text = groups.map((group) => group.toString(16).padStart(zeros ? 4 : 1, '0'))
    if (dotted) text.splice(6, 2, bytes.subarray(12).join('.'))
    const inHex = dotted ? 6 : 8
    const end = Math.min(at + length, inHex)
    const hasGap = at < inHex && groups.slice(at, end).every((group) => group === 0)
    const written = hasGap ? `${text.slice(0, at).join(':')}::${text.slice(end).join(':')}` : text.join(':')
    return { bytes, text: (capitals ? written.toUpperCase() : written) + zone }
  })

const unmapped = (bytes: Uint8Array): Uint8Array =>
  bytes.length === 16 && bytes.subarray(0, 12).every((byte, i) => byte === (i < 10 ? 0 : 0xff)) ? bytes.subarray(12) : bytes

/** Text that is nearly an address. Zones and lengths of networks are left out: libraries differ in where they may stand. */
const nearly = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEFg:.[] xX-+'), maxLength: 45 }),
  fc
    .array(fc.constantFrom('0', '1', '01', '00', '255', '256', 'ffff', 'fffff', '', ':', '::', '1.2.3.4', '1.2.3'), {
      maxLength: 10,
    })
    .map((parts) => parts.join(':')),
  fc
    .array(fc.constantFrom('0', '1', '01', '255', '256', '1000', '', 'a', '0x1'), { maxLength: 6 })
    .map((parts) => parts.join('.')),
)

describe('spellings', () => {
  test.each([
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:1.2.3.4', '1.2.3.4'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0000:0001', '2001:db8::1'],
    ['2001:db8::1.2.3.4', '2001:db8::102:304'],
    ['64:ff9b::1.2.3.4', '64:ff9b::102:304'],
    ['64:ff9b::5.6.7.8', '64:ff9b::506:708'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['::1.2.3.4', '::102:304'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:0:2:0:0:3:4', '1::2:0:0:3:4'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
  ])('%s is %s', (text, canonical) => {
    const bytes = parseAddress(text)
    expect(bytes === undefined ? undefined : formatAddress(bytes)).toBe(canonical)
  })

  test.each([
    '',
    ' ',
    '.',
    ':',
    ':::',
    '1',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.',
    '.1.2.3',
    '1..2.3',
    '01.2.3.4',
    '1.2.3.04',
    '00.0.0.0',
    '256.0.0.1',
    '1.2.3.999999999999999999999',
    '0x1.2.3.4',
    '1.2.3.4 ',
    '+1.2.3.4',
    '1.2.3.-4',
    '1.2.3.4%eth0',
    '١.2.3.4',
    '1:2',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1::2::3',
    '1:2:3:4:5:6:7:8::',
    '::1:2:3:4:5:6:7:8',
    ':1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:',
    '12345::',
    '::g',
    '::1.2.3',
    '::1.2.3.4.5',
    '::1.2.3.4:5',
    '1:2:3:4:5:6:7:1.2.3.4',
    '1.2.3.4::',
    '::ffff:1.2.3.256',
    '::ffff:01.2.3.4',
    '%eth0',
    '[::1]',
    '::1/64',
    '10.0.0.0/8',
    'localhost',
    'unknown',
    '\0',
    '1.2.3.4\r\n',
    '😀',
  ])('%j is no address', (text) => {
    expect(parseAddress(text)).toBeUndefined()
  })

  test('every spelling of an address gives the same bytes', () => {
    fc.assert(
      fc.property(spelled, ({ bytes, text }) => {
        expect(parseAddress(text)).toEqual(unmapped(bytes))
      }),
      { numRuns: 2000 },
    )
  })

  test('what is written is read back', () => {
    fc.assert(
      fc.property(ipv4, (bytes) => {
        expect(parseAddress(formatAddress(bytes))).toEqual(bytes)
      }),
    )
    fc.assert(
      fc.property(ipv6, (bytes) => {
        expect(parseAddress(formatAddress(bytes))).toEqual(unmapped(bytes))
      }),
    )
  })

  test('nothing throws, however long', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseAddress(text)))
    for (const text of [':'.repeat(1e6), '1'.repeat(1e6), '1.'.repeat(1e6), '0:'.repeat(1e6)])
      expect(parseAddress(text)).toBeUndefined()
  })
})

describe('two well-known libraries agree', () => {
  const libraries: Record<string, (text: string) => readonly number[] | undefined> = {
    'ipaddr.js': (text) => {
      if (text.includes(':')) {
        // This library reads ::1.2.3.4 as ::ffff:1.2.3.4, but not the other spellings of the same address.
        const plain = text.replace(/^::(?=\d+\.)/, '0::')
        return ipaddr.IPv6.isValid(plain) ? ipaddr.IPv6.parse(plain).toByteArray() : undefined
      }
      return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text).toByteArray() : undefined
    },
    'ip-address': (text) => {
      if (text.includes(':')) return Address6.isValid(text) ? [...new Address6(text).toUnsignedByteArray()] : undefined
      return Address4.isValid(text) ? new Address4(text).toArray() : undefined
    },
  }

  for (const [library, parse] of Object.entries(libraries)) {
    const padded = (bytes: readonly number[], length: number): number[] => [...Array(length - bytes.length).fill(0), ...bytes]

    test(`${library} reads the same bytes from every spelling`, () => {
      const withoutZone = spelled.map(({ text }) => text.replace(/%.*/, ''))
      fc.assert(
        fc.property(withoutZone, (text) => {
          const bytes = Uint8Array.from(padded(parse(text) as number[], 16))
          expect(parseAddress(text)).toEqual(unmapped(bytes))
        }),
        { numRuns: 2000 },
      )
      fc.assert(
        fc.property(ipv4, (bytes) => {
          expect(parse(bytes.join('.'))).toEqual([...bytes])
        }),
      )
    })

    test(`${library} takes the same text for no address`, () => {
      fc.assert(
        fc.property(nearly, (text) => {
          const theirs = parse(text)
          const ours = parseAddress(text)
          if (ours === undefined) expect(theirs, text).toBeUndefined()
          else
            expect([...ours], text).toEqual([
              ...unmapped(Uint8Array.from(padded(theirs as number[], text.includes(':') ? 16 : 4))),
            ])
        }),
        { numRuns: 5000 },
      )
    })
  }

  test('and write it in the same way', () => {
    fc.assert(
      fc.property(ipv6, (bytes) => {
        expect(formatAddress(bytes)).toBe(Address6.fromUnsignedByteArray([...bytes]).correctForm())
        expect(formatAddress(bytes)).toBe(new ipaddr.IPv6([...bytes]).toRFC5952String())
      }),
    )
  })
})

test('a network has the first bits of the address, and nothing else', () => {
  fc.assert(
    fc.property(fc.oneof(ipv4, ipv6), fc.nat(128), (bytes, bits) => {
      const prefix = Math.min(bits, bytes.length * 8)
      const before = bytes.slice()
      const binary = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
      const network = [...networkOf(bytes, prefix)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
      expect(network).toBe(binary.slice(0, prefix).padEnd(bytes.length * 8, '0'))
      expect(bytes).toEqual(before)
    }),
  )
})
