// Bytes of a log in memory, with a view that reads four of them at once.

export interface LogBytes {
  readonly bytes: Buffer
  /** The same bytes. */
  readonly view: DataView
}

export function logBytes(bytes: Buffer): LogBytes {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
}

/** Decodes UTF-8. Bytes that are not UTF-8 become U+FFFD. The result is a text of its own, and keeps no larger one in memory. */
export function textOf({ bytes }: LogBytes, from: number, to: number): string {
  return bytes.toString('utf8', from, to)
}

/** True if `length` bytes of two views are equal, from `from` and from `otherFrom` on. */
export function areEqual(view: DataView, from: number, other: DataView, otherFrom: number, length: number): boolean {
  const last = length - 4
  if (last < 0) {
    for (let i = 0; i < length; i++) if (view.getUint8(from + i) !== other.getUint8(otherFrom + i)) return false
    return true
  }
  for (let i = 0; i < last; i += 4) {
    if (view.getInt32(from + i, true) !== other.getInt32(otherFrom + i, true)) return false
  }
  return view.getInt32(from + last, true) === other.getInt32(otherFrom + last, true)
}
