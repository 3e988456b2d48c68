// IP addresses as bytes: 4 for IPv4, 16 for IPv6. Reads every spelling, and writes one.
// Invariant: all spellings of an address give the same bytes, other texts give undefined, and nothing throws.

const COLON = 0x3a
const DOT = 0x2e
const ZERO = 0x30
const LOWER_A = 0x61
/** The bit that turns an ASCII letter into lower case. */
const LOWER_CASE = 0x20

/** Returns the bytes of an address, or undefined. Drops a zone. IPv4 mapped into IPv6 (`::ffff:1.2.3.4`) becomes IPv4. */
export function parseAddress(text: string): Uint8Array | undefined {
  if (!text.includes(':')) {
    const bytes = new Uint8Array(4)
    return readIPv4(text, 0, text.length, bytes, 0) ? bytes : undefined
  }
  const zone = text.indexOf('%')
  const bytes = readIPv6(text, zone < 0 ? text.length : zone)
  return bytes !== undefined && isMapped(bytes) ? bytes.slice(12) : bytes
}

/** True if the IPv6 bytes are a mapped IPv4 address: `::ffff:0:0/96`. */
function isMapped(bytes: Uint8Array): boolean {
  return bytes[10] === 0xff && bytes[11] === 0xff && isZero(bytes, 0, 10)
}

/** True if the bytes are an IPv4 address that a NAT64 translator embeds in IPv6: `64:ff9b::/96`. */
export function isNat64(bytes: Uint8Array): boolean {
  const hasPrefix = bytes[0] === 0 && bytes[1] === 0x64 && bytes[2] === 0xff && bytes[3] === 0x9b
  return hasPrefix && bytes.length === 16 && isZero(bytes, 4, 12)
}

/** Byte 8 of an address under a translator's prefix belongs to neither the prefix nor the IPv4 address (RFC 6052). */
const NAT64_UNUSED_BYTE = 8

/** Returns the IPv4 address that is embedded after a translator's prefix of `prefix` bits, a multiple of 8 up to 96. */
export function embeddedIPv4(bytes: Uint8Array, prefix: number): Uint8Array {
  const embedded = new Uint8Array(4)
  for (let at = prefix / 8, i = 0; i < 4; at++) {
    if (at === NAT64_UNUSED_BYTE) continue
    embedded[i] = bytes[at]
    i += 1
  }
  return embedded
}

/** Writes an address: four decimals, or IPv6 as in RFC 5952. */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`
  const { from, to } = longestZeroRun(bytes)
  let text = ''
  for (let i = 0; i < 8; i++) {
    if (i === from) {
      text += '::'
      i = to - 1
    } else {
      if (i > 0 && i !== to) text += ':'
      text += groupAt(bytes, i).toString(16)
    }
  }
  return text
}

/** Returns the network of an address: a copy in which all bits after the first `prefix` bits are 0. */
export function networkOf(bytes: Uint8Array, prefix: number): Uint8Array {
  const network = bytes.slice()
  const whole = prefix >> 3
  if (whole < network.length) {
    network[whole] &= 0xff00 >> (prefix & 7)
    network.fill(0, whole + 1)
  }
  return network
}

function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (bytes[i] !== 0) return false
  return true
}

function groupAt(bytes: Uint8Array, index: number): number {
  return (bytes[index * 2] << 8) | bytes[index * 2 + 1]
}

/** Returns the longest run of two or more groups that are 0; the first one of equally long runs. */
function longestZeroRun(bytes: Uint8Array): { readonly from: number; readonly to: number } {
  let longest = { from: -1, to: -1 }
  let from = 0
  for (let i = 0; i < 8; i++) {
    if (groupAt(bytes, i) !== 0) from = i + 1
    else if (i > from && i + 1 - from > longest.to - longest.from) longest = { from, to: i + 1 }
  }
  return longest
}

/** Reads four decimals and writes 4 bytes from `at` on. Leading zeros are refused, because some parsers read them as octal. */
function readIPv4(text: string, from: number, end: number, bytes: Uint8Array, at: number): boolean {
  let count = 0
  let octet = -1
  for (let i = from; i <= end; i++) {
    const code = i < end ? text.charCodeAt(i) : DOT
    if (code === DOT) {
      if (octet < 0 || count === 4) return false
      bytes[at + count] = octet
      count += 1
      octet = -1
    } else {
      const digit = code - ZERO
      if (digit < 0 || digit > 9 || octet === 0) return false
      octet = octet < 0 ? digit : octet * 10 + digit
      if (octet > 255) return false
    }
  }
  return count === 4
}

/** Reads groups of up to four hex digits, at most one `::` for groups of zeros, and optional IPv4 in the last four bytes. */
function readIPv6(text: string, end: number): Uint8Array | undefined {
  const bytes = new Uint8Array(16)
  let at = 0
  let gapAt = -1
  let i = 0
  if (text.charCodeAt(0) === COLON) {
    if (text.charCodeAt(1) !== COLON) return undefined
    gapAt = 0
    i = 2
  }
  while (i < end) {
    const from = i
    let group = 0
    for (let digit = hexDigit(text, i); i < end && digit >= 0; digit = hexDigit(text, i)) {
      group = group * 16 + digit
      i += 1
      if (i - from > 4) return undefined
    }
    if (i < end && text.charCodeAt(i) === DOT) {
      if (at > 12 || !readIPv4(text, from, end, bytes, at)) return undefined
      at += 4
      break
    }
    if (i === from || at === 16) return undefined
    bytes[at] = group >> 8
    bytes[at + 1] = group & 0xff
    at += 2
    if (i === end) break
    if (text.charCodeAt(i) !== COLON || i + 1 === end) return undefined
    i += 1
    if (text.charCodeAt(i) === COLON) {
      if (gapAt >= 0) return undefined
      gapAt = at
      i += 1
    }
  }
  if (gapAt < 0) return at === 16 ? bytes : undefined
  if (at > 14) return undefined
  const tailAt = 16 - (at - gapAt)
  bytes.copyWithin(tailAt, gapAt, at)
  bytes.fill(0, gapAt, tailAt)
  return bytes
}

/** Returns the value of a hex digit, or −1. */
function hexDigit(text: string, at: number): number {
  const code = text.charCodeAt(at)
  const decimal = code - ZERO
  if (decimal >= 0 && decimal <= 9) return decimal
  const letter = (code | LOWER_CASE) - LOWER_A
  return letter >= 0 && letter <= 5 ? letter + 10 : -1
}
