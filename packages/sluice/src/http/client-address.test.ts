import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { formatAddress } from './address.ts'
import { type ClientAddressOptions, clientAddress, type TrustProxy } from './client-address.ts'
import type { AddressWarning } from './peer-address.ts'

const INSIDE = ['10.0.0.0/8', '2001:db8:ffff::/48']

/** Reads with no warning on the console. */
const reader = (options: ClientAddressOptions = {}) => clientAddress({ warn: () => {}, ...options })

describe('a table of peers and headers', () => {
  type Row = readonly [trustProxy: TrustProxy | undefined, peer: string | undefined, header: string | undefined, key: string]

  const forwardedFor: readonly Row[] = [
    // No proxy is trusted: the address of the socket counts.
    [undefined, '203.0.113.9', undefined, '203.0.113.9'],
    [undefined, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [undefined, '127.0.0.1', '198.51.100.1', '127.0.0.1'],
    [undefined, '::1', '198.51.100.1', '::/64'],
    [0, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [[], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [undefined, undefined, '198.51.100.1', 'unknown'],
    [undefined, undefined, undefined, 'unknown'],
    [undefined, '', undefined, 'unknown'],
    [undefined, 'junk', '198.51.100.1', 'unknown'],
    [undefined, '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    [undefined, '::ffff:cb00:7109', undefined, '203.0.113.9'],
    [undefined, '64:ff9b::203.0.113.9', undefined, '203.0.113.9'],
    [undefined, '2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::/64'],
    [undefined, 'fe80::1%eth0', undefined, 'fe80::/64'],
    [undefined, '[2001:db8:1:2::3]:4711', undefined, '2001:db8:1:2::/64'],
    [undefined, '203.0.113.9:4711', undefined, '203.0.113.9'],

    // By number.
    [1, '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', '198.51.100.1, 203.0.113.9', '203.0.113.9'],
    [2, '10.0.0.1', '198.51.100.1, 203.0.113.9', '198.51.100.1'],
    [2, '10.0.0.1', '6.6.6.6, 198.51.100.1, 203.0.113.9', '198.51.100.1'],
    [3, '10.0.0.1', '198.51.100.1, 203.0.113.9', '198.51.100.1'],
    [1, '10.0.0.1', undefined, '10.0.0.1'],
    [1, '10.0.0.1', '', '10.0.0.1'],
    [1, '10.0.0.1', ' , ,', '10.0.0.1'],
    [1, '10.0.0.1', '203.0.113.9,', '203.0.113.9'],
    [1, '10.0.0.1', ',203.0.113.9', '203.0.113.9'],
    [2, '10.0.0.1', '198.51.100.1,,203.0.113.9', '198.51.100.1'],
    [1, '10.0.0.1', '198.51.100.1,203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', '198.51.100.1\t,\t203.0.113.9\t', '203.0.113.9'],
    [1, undefined, '203.0.113.9', '203.0.113.9'],
    [1, '', '203.0.113.9', '203.0.113.9'],
    [1, undefined, undefined, 'unknown'],
    [1, 'junk', 'junk', 'unknown'],

    // By network.
    [INSIDE, '10.0.0.1', '203.0.113.9', '203.0.113.9'],
    [INSIDE, '10.0.0.1', '6.6.6.6, 203.0.113.9', '203.0.113.9'],
    [INSIDE, '10.0.0.1', '203.0.113.9, 10.0.0.2', '203.0.113.9'],
    [INSIDE, '10.0.0.1', '203.0.113.9, 10.0.0.2, 10.0.0.3', '203.0.113.9'],
    [INSIDE, '10.0.0.1', '6.6.6.6, 203.0.113.9, 10.0.0.2, 10.0.0.3', '203.0.113.9'],
    [INSIDE, '10.0.0.1', '10.0.0.2, 203.0.113.9', '203.0.113.9'],
    [INSIDE, '10.0.0.1', '10.0.0.2', '10.0.0.2'],
    [INSIDE, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    [INSIDE, '11.0.0.1', '198.51.100.1', '11.0.0.1'],
    [INSIDE, '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    [INSIDE, '64:ff9b::10.0.0.1', '203.0.113.9', '10.0.0.1'],
    [INSIDE, '2001:db8:ffff::1', '203.0.113.9', '203.0.113.9'],
    [INSIDE, '2001:db8:fffe::1', '203.0.113.9', '2001:db8:fffe::/64'],
    [INSIDE, undefined, '203.0.113.9', 'unknown'],
    [['127.0.0.1', '::1'], '::1', '203.0.113.9', '203.0.113.9'],
    [['127.0.0.1', '::1'], '127.0.0.2', '203.0.113.9', '127.0.0.2'],

    // By function.
    [() => false, '10.0.0.1', '203.0.113.9', '10.0.0.1'],
    [(address) => address.startsWith('10.'), '10.0.0.1', '203.0.113.9, 10.0.0.2', '203.0.113.9'],
    [(_address, distance) => distance < 2, '10.0.0.1', '6.6.6.6, 198.51.100.1, 203.0.113.9', '198.51.100.1'],
    [(address) => address === '', undefined, '203.0.113.9', '203.0.113.9'],
    [(() => 'yes') as never, '10.0.0.1', '203.0.113.9', '10.0.0.1'],

    // Forms of an entry.
    [1, '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    [1, '10.0.0.1', '[203.0.113.9]:4711', '203.0.113.9'],
    [1, '10.0.0.1', '2001:db8:1:2::3', '2001:db8:1:2::/64'],
    [1, '10.0.0.1', '[2001:db8:1:2::3]', '2001:db8:1:2::/64'],
    [1, '10.0.0.1', '[2001:DB8:1:2::3]:4711', '2001:db8:1:2::/64'],
    [1, '10.0.0.1', '[fe80::1%eth0]:80', 'fe80::/64'],
    [1, '10.0.0.1', 'fe80::1%eth0', 'fe80::/64'],
    [1, '10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', '[::ffff:203.0.113.9]:80', '203.0.113.9'],
    [1, '10.0.0.1', '64:ff9b::203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', '64:ff9b::203.0.113.10', '203.0.113.10'],

    // A proxy that reports no client is counted itself, and entries before it are ignored.
    [1, '10.0.0.1', 'unknown', '10.0.0.1'],
    [2, '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    [INSIDE, '10.0.0.1', '198.51.100.1, _hidden, 10.0.0.2', '10.0.0.2'],
    [1, '10.0.0.1', '203.0.113.999', '10.0.0.1'],
    [1, '10.0.0.1', '[2001:db8::1', '10.0.0.1'],
    [1, '10.0.0.1', '[2001:db8::1]junk', '10.0.0.1'],
    [1, '10.0.0.1', '[]', '10.0.0.1'],
    [1, '10.0.0.1', '\0\r\n😀', '10.0.0.1'],
    [1, '10.0.0.1', ','.repeat(16_000), '10.0.0.1'],
    [1, '10.0.0.1', 'x'.repeat(16_000), '10.0.0.1'],
  ]

  const forwarded: readonly Row[] = [
    [undefined, '203.0.113.9', 'for=198.51.100.1', '203.0.113.9'],
    [1, '10.0.0.1', 'for=203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', 'for=198.51.100.1, for=203.0.113.9', '203.0.113.9'],
    [2, '10.0.0.1', 'for=198.51.100.1, for=203.0.113.9', '198.51.100.1'],
    [INSIDE, '10.0.0.1', 'for=6.6.6.6, for=203.0.113.9;proto=https, for=10.0.0.2', '203.0.113.9'],
    [1, '10.0.0.1', 'For="[2001:DB8:1:2::3]:4711"', '2001:db8:1:2::/64'],
    [1, '10.0.0.1', 'for="[2001:db8:1:2::3]"', '2001:db8:1:2::/64'],
    [1, '10.0.0.1', 'for="203.0.113.9:4711"', '203.0.113.9'],
    [1, '10.0.0.1', 'for="203.0.113.9:_port"', '203.0.113.9'],
    [1, '10.0.0.1', 'proto=http;by=10.0.0.1;FOR=203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', 'proto=http ; for=203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', 'for="203\\.0.113\\.9"', '203.0.113.9'],
    [1, '10.0.0.1', 'for=203.0.113.9;host="a,b"', '203.0.113.9'],
    [1, '10.0.0.1', 'host="x;for=6.6.6.6";for=203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', 'host="x\\";for=6.6.6.6;x=\\"";for=203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', 'for=203.0.113.9;host="x\\", for=6.6.6.6;x=\\""', '203.0.113.9'],
    [1, '10.0.0.1', 'for="6.6.6.6, for=203.0.113.9', '203.0.113.9'],
    [1, '10.0.0.1', 'for=6.6.6.6\\, for="203.0.113.9"', '203.0.113.9'],
    [1, '10.0.0.1', 'for=unknown', '10.0.0.1'],
    [1, '10.0.0.1', 'for=_SEVKISEK', '10.0.0.1'],
    [1, '10.0.0.1', 'for=', '10.0.0.1'],
    [1, '10.0.0.1', 'for="', '10.0.0.1'],
    [1, '10.0.0.1', 'by=203.0.113.9', '10.0.0.1'],
    [1, '10.0.0.1', 'forx=203.0.113.9', '10.0.0.1'],
    [1, '10.0.0.1', '203.0.113.9', '10.0.0.1'],
    [1, '10.0.0.1', '"'.repeat(16_000), '10.0.0.1'],
    [1, '10.0.0.1', '\\"'.repeat(8_000), '10.0.0.1'],
  ]

  const tables = { 'x-forwarded-for': forwardedFor, forwarded }
  for (const [header, rows] of Object.entries(tables)) {
    test.each(rows.map((row, i) => [`${header} ${i + 1}`, row] as const))('%s', (_title, [trustProxy, peer, value, key]) => {
      const read = reader({ header, ...(trustProxy === undefined ? {} : { trustProxy }) })
      expect(read(peer, { [header]: value }).key, `${peer} | ${value}`).toBe(key)
      // Headers cannot contain a value that HTTP parsers refuse.
      if (value !== undefined && /^[\t\x20-\x7e]*$/.test(value)) {
        expect(read(peer, new Headers({ [header]: value })).key).toBe(key)
      }
    })
  }

  test('has at least sixty rows', () => {
    expect(forwardedFor.length + forwarded.length).toBeGreaterThanOrEqual(60)
  })
})

describe('one client, one key', () => {
  const ipv4 = fc.uint8Array({ minLength: 4, maxLength: 4 })
  const spellings = (bytes: Uint8Array): string[] => {
    const text = bytes.join('.')
    const hex = `${((bytes[0] << 8) | bytes[1]).toString(16)}:${((bytes[2] << 8) | bytes[3]).toString(16)}`
    const plain = [text, `::ffff:${text}`, `::FFFF:${hex}`, `0:0:0:0:0:ffff:${hex}`, `64:ff9b::${text}`, `64:FF9B::${hex}`]
    return [...plain, `${text}:80`, ...plain.map((each) => `[${each}]`), ...plain.map((each) => `[${each}]:80`)]
  }

  test('all spellings of an IPv4 address have the same key, and no two addresses share one', () => {
    const read = reader({ trustProxy: 1 })
    fc.assert(
      fc.property(ipv4, ipv4, (a, b) => {
        const keys = (bytes: Uint8Array): Set<string> =>
          new Set(spellings(bytes).flatMap((text) => [read(text).key, read('10.0.0.1', { 'x-forwarded-for': text }).key]))
        expect([...keys(a)]).toEqual([a.join('.')])
        expect(keys(a).has([...keys(b)][0])).toBe(a.join() === b.join())
      }),
    )
  })

  test('IPv6 addresses share a key if, and only if, their first bits are the same', () => {
    const prefix = fc.integer({ min: 32, max: 128 })
    const start = fc.constantFrom(0x20, 0x2a, 0xfe)
    const address = fc
      .tuple(start, fc.uint8Array({ minLength: 15, maxLength: 15 }))
      .map(([first, rest]) => Uint8Array.from([first, ...rest]))
    fc.assert(
      fc.property(address, fc.nat(127), prefix, (bytes, bit, ipv6Prefix) => {
        const other = bytes.slice()
        other[bit >> 3] ^= 0x80 >> (bit & 7)
        const read = reader({ ipv6Prefix })
        const [key, otherKey] = [bytes, other].map((each) => read(formatAddress(each)).key)
        expect(key === otherKey).toBe(bit >= ipv6Prefix)
        expect(key.endsWith(`/${ipv6Prefix}`)).toBe(true)
      }),
    )
  })

  test('the address itself is there too, in one spelling', () => {
    const read = reader()
    expect(read('2001:DB8::1')).toMatchObject({ key: '2001:db8::/64', text: '2001:db8::1' })
    expect(read('::ffff:1.2.3.4')).toMatchObject({ key: '1.2.3.4', text: '1.2.3.4', bytes: Uint8Array.of(1, 2, 3, 4) })
    expect(read('64:ff9b::1.2.3.4')).toMatchObject({ key: '1.2.3.4', text: '64:ff9b::102:304' })
    expect(read('junk')).toMatchObject({ key: 'unknown', text: '', bytes: undefined })
  })
})

describe('nothing prepended to the header changes the key', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({
      unit: fc.constantFrom('"', '\\', ',', ';', '=', 'for=', '[', ']', '1.2.3.4', '10.0.0.9', '::', ' ', '\t'),
      maxLength: 30,
    }),
  )
  const client = fc.constantFrom('203.0.113.9', '2001:db8:1:2::3')
  const proxies = fc.array(fc.constantFrom('10.0.0.2', '10.1.2.3', '2001:db8:ffff::7'), { maxLength: 4 })
  const element = (address: string): string => (address.includes(':') ? `for="[${address}]:80";proto=https` : `for=${address}`)

  for (const header of ['x-forwarded-for', 'forwarded']) {
    test(header, () => {
      fc.assert(
        fc.property(anything, client, proxies, (prepended, address, chain) => {
          const hops = [address, ...chain].map(header === 'forwarded' ? element : String)
          for (const trustProxy of [INSIDE, hops.length]) {
            const read = reader({ header, trustProxy })
            const { key } = read('10.0.0.1', { [header]: hops.join(', ') })
            expect(key).toBe(reader()(address).key)
            expect(read('10.0.0.1', { [header]: [prepended, ...hops].join(', ') }).key).toBe(key)
            expect(read('10.0.0.1', { [header]: [prepended, hops.join(', ')] }).key).toBe(key)
          }
        }),
        { numRuns: 1000 },
      )
    })
  }

  test('nor does a header that the proxies do not write', () => {
    const read = reader({ trustProxy: INSIDE })
    const headers = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=6.6.6.6', 'x-real-ip': '6.6.6.6' }
    expect(read('10.0.0.1', headers).key).toBe('203.0.113.9')
  })

  test('and nothing throws', () => {
    const headers = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(headers, headers, headers, (peer, list, parameters) => {
        for (const header of ['x-forwarded-for', 'forwarded']) {
          reader({ header, trustProxy: 3 })(peer, { 'x-forwarded-for': list, forwarded: parameters })
        }
      }),
    )
  })
})

test('any header that lists addresses will do, whatever its case', () => {
  const read = reader({ trustProxy: 1, header: 'CF-Connecting-IP' })
  expect(read(undefined, new Headers({ 'cf-connecting-ip': '203.0.113.9' })).key).toBe('203.0.113.9')
})

test('over a real socket, with one header line or several', async () => {
  const read = reader({ trustProxy: ['127.0.0.1'] })
  const server = createServer((request, response) => response.end(read(request.socket.remoteAddress, request.headers).key))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const ask = (headers: Record<string, string | string[]>): Promise<string> =>
    new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, headers, agent: false }, (response) => response.setEncoding('utf8').on('data', resolve)).on(
        'error',
        reject,
      )
    })
  try {
    expect(await ask({})).toBe('127.0.0.1')
    expect(await ask({ 'X-Forwarded-For': '6.6.6.6, 203.0.113.9' })).toBe('203.0.113.9')
    expect(await ask({ 'X-Forwarded-For': ['6.6.6.6', '203.0.113.9, 127.0.0.1'] })).toBe('203.0.113.9')
  } finally {
    server.close()
  }
})

describe('peers that come again', () => {
  test('are known by their address, and still warned of', () => {
    const warnings: AddressWarning[] = []
    const read = clientAddress({ warn: (warning) => warnings.push(warning) })
    const [first, again] = [read('203.0.113.9'), read('203.0.113.9')]
    expect(again).toBe(first)
    expect([again.key, again.key]).toEqual(['203.0.113.9', '203.0.113.9'])
    read('203.0.113.9', { 'x-forwarded-for': '1.1.1.1' })
    expect(warnings).toHaveLength(1)
  })

  test('are asked about anew where a function decides whom to trust', () => {
    let isTrusted = false
    const read = reader({ trustProxy: () => isTrusted })
    const headers = { 'x-forwarded-for': '1.1.1.1' }
    expect(read('203.0.113.9', headers).key).toBe('203.0.113.9')
    isTrusted = true
    expect(read('203.0.113.9', headers).key).toBe('1.1.1.1')
  })

  test('however many there are, each keeps its own key', () => {
    const read = reader()
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 25_000; i++)
        expect(read(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`).key).toBe(`10.0.${i >> 8}.${i & 255}`)
    }
  })
})

describe('a warning', () => {
  const withWarnings = (options: ClientAddressOptions = {}) => {
    const warnings: AddressWarning[] = []
    return { warnings, read: clientAddress({ warn: (warning) => warnings.push(warning), ...options }) }
  }
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })

  test('comes once, with a code and what to set, when an untrusted peer forwards', () => {
    const { warnings, read } = withWarnings()
    read('10.0.0.1')
    read('10.0.0.1', {})
    expect(warnings).toEqual([])
    for (let i = 0; i < 3; i++) read('10.0.0.1', { 'x-forwarded-for': 'secret\n203.0.113.9' })
    expect(warnings).toEqual([
      { code: 'WARN_UNTRUSTED_PROXY', message: expect.stringMatching(/10\.0\.0\.1 .*x-forwarded-for.* set trustProxy/) },
    ])
    expect(warnings[0].message).not.toContain('secret')
  })

  test.each([
    ['forwarded, too', {}, { forwarded: 'for=203.0.113.9' }, 1],
    ['a peer that is not on the list', { trustProxy: INSIDE }, { 'x-forwarded-for': '203.0.113.9' }, 1],
    ['a peer that a function denies', { trustProxy: () => false }, { 'x-forwarded-for': '203.0.113.9' }, 1],
    ['the header that was named', { header: 'x-real-ip' }, { 'x-real-ip': '203.0.113.9' }, 1],
    ['but not another one', { header: 'x-real-ip' }, { 'x-forwarded-for': '203.0.113.9' }, 0],
    ['nor when 0 proxies were named', { trustProxy: 0 }, { 'x-forwarded-for': '203.0.113.9' }, 0],
    ['nor when the peer is trusted', { trustProxy: ['192.0.2.1'] }, { 'x-forwarded-for': '203.0.113.9' }, 0],
  ])('%s', (_title, options, headers, count) => {
    const { warnings, read } = withWarnings(options)
    read('192.0.2.1', headers as Record<string, string>)
    expect(warnings).toHaveLength(count)
  })

  test('goes to the process, or to the console where there is none', () => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    clientAddress()(undefined, { 'x-forwarded-for': '203.0.113.9' })
    expect(emitWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('a peer without an address'), {
      type: 'SluiceWarning',
      code: 'WARN_UNTRUSTED_PROXY',
    })
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.stubGlobal('process', undefined)
    clientAddress()('10.0.0.1', { 'x-forwarded-for': '203.0.113.9' })
    vi.unstubAllGlobals()
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/^WARN_UNTRUSTED_PROXY: a request from 10\.0\.0\.1 /))
  })
})

describe('wrong options are refused', () => {
  test.each([
    ['true', { trustProxy: true }, /trustProxy must be .* got true: true would believe whatever a client writes/],
    ['a name', { trustProxy: 'loopback' }, /trustProxy must be .* got "loopback"/],
    ['half a proxy', { trustProxy: 0.5 }, /trustProxy must be .* got 0.5/],
    ['fewer than none', { trustProxy: -1 }, /trustProxy must be/],
    ['a network that is none', { trustProxy: ['10.0.0.0/99'] }, /a network's length must be/],
    ['too few bits', { ipv6Prefix: 31 }, /ipv6Prefix must be a whole number from 32 to 128, got 31/],
    ['too many bits', { ipv6Prefix: 129 }, /from 32 to 128/],
    ['a header that is none', { header: 'x forwarded' }, /header must be the name of a header/],
    ['a warn that is no function', { warn: 'no' }, /warn must be a function, got "no"/],
    ['a misspelt option', { trustproxy: 1 }, /has no option "trustproxy": there is .*trustProxy/],
  ])('%s', (_what, options, message) => {
    expect(() => clientAddress(options as ClientAddressOptions)).toThrow(
      expect.objectContaining({ code: 'ERR_OPTION', message: expect.stringMatching(message) }),
    )
  })
})
