// The hash slot of a name, one of a cluster's 16,384: CRC-16/XMODEM of its hash tag, as in the cluster specification.

const SLOTS = 16_384

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

const encoder = new TextEncoder()

export function slotOf(name: string): number {
  const open = name.indexOf('{')
  const close = name.indexOf('}', open + 1)
  const hasTag = open >= 0 && close > open + 1
  const from = hasTag ? open + 1 : 0
  const to = hasTag ? close : name.length
  let crc = 0
  for (let i = from; i < to; i++) {
    const code = name.charCodeAt(i)
    if (code > 127) return crcOf(encoder.encode(name.slice(from, to))) % SLOTS
    crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ code]
  }
  return crc % SLOTS
}

function crcOf(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]
  return crc
}

/** Tags by slot, as far as they were needed. Each text of 14 binary digits has a slot of its own. */
const tags = new Map<number, string>()

/** Returns a tag whose slot is `slot`. */
export function tagIn(slot: number): string {
  let tag = tags.get(slot)
  while (tag === undefined) {
    const next = tags.size.toString(2).padStart(14, '0')
    tags.set(slotOf(next), next)
    tag = tags.get(slot)
  }
  return tag
}
