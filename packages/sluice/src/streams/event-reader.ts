// Reads server-sent events from bytes that are cut anywhere, also inside of a character. Only the data of events is read.
// Invariant: at most `mostBytes` of an event are kept. An event that is longer is dropped.

const LF = 10
const CR = 13

const FIRST_SIZE = 1024

/** The first bytes of a line with data. */
const DATA = new TextEncoder().encode('data')

const COLON = 58
const SPACE = 32

export class EventReader {
  readonly #onData: (data: string) => void
  readonly #mostBytes: number
  /** The start of a line whose end has not come yet. */
  #line = new Uint8Array(FIRST_SIZE)
  #lineLength = 0
  /** The data of an event whose end has not come yet; undefined if it has none. */
  #data: string | undefined
  #dataBytes = 0
  #isDropped = false
  /** True after a CR at the end of a chunk: an LF that follows ends the same line. */
  #isAfterCr = false
  readonly #decoder = new TextDecoder()

  /** `onData` is called with the data of each event. */
  constructor(mostBytes: number, onData: (data: string) => void) {
    this.#mostBytes = mostBytes
    this.#onData = onData
  }

  add(bytes: Uint8Array): void {
    let start = 0
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]
      if (byte !== LF && byte !== CR) {
        this.#isAfterCr = false
        continue
      }
      const isSecond = byte === LF && this.#isAfterCr
      this.#isAfterCr = byte === CR
      if (!isSecond) this.#endLine(bytes.subarray(start, i))
      start = i + 1
    }
    this.#keep(bytes.subarray(start))
  }

  /** Ends the last line and the last event. A server may leave out their ends. */
  end(): void {
    this.#endLine(new Uint8Array())
    this.#endEvent()
  }

  /** Keeps the start of a line for the next chunk. */
  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#drops(bytes.length)) return
    const length = this.#lineLength + bytes.length
    if (length > this.#line.length) {
      const larger = new Uint8Array(Math.min(this.#mostBytes, Math.max(length, 2 * this.#line.length)))
      larger.set(this.#line.subarray(0, this.#lineLength))
      this.#line = larger
    }
    this.#line.set(bytes, this.#lineLength)
    this.#lineLength = length
  }

  /** Drops the event if it gets longer than is allowed by `added` bytes. Returns true if it is dropped. */
  #drops(added: number): boolean {
    if (!this.#isDropped && this.#dataBytes + this.#lineLength + added <= this.#mostBytes) return false
    this.#isDropped = true
    this.#data = undefined
    // The length is not 0, so that the rest of the line does not look like an empty line.
    this.#lineLength = 1
    this.#shrink()
    return true
  }

  /** Ends a line with its last bytes. */
  #endLine(rest: Uint8Array): void {
    if (this.#lineLength === 0 && rest.length === 0) {
      this.#endEvent()
      return
    }
    let line = rest
    if (this.#lineLength > 0) {
      this.#keep(rest)
      line = this.#line.subarray(0, this.#lineLength)
    } else if (this.#drops(rest.length)) line = rest.subarray(0, 0)
    if (!this.#isDropped) this.#readLine(line)
    this.#lineLength = 0
  }

  #readLine(line: Uint8Array): void {
    const from = startOfData(line)
    if (from < 0) return
    this.#dataBytes += line.length + 1
    const text = this.#decoder.decode(line.subarray(from))
    this.#data = this.#data === undefined ? text : `${this.#data}\n${text}`
  }

  #endEvent(): void {
    const data = this.#data
    this.#data = undefined
    this.#dataBytes = 0
    this.#isDropped = false
    this.#shrink()
    if (data !== undefined) this.#onData(data)
  }

  /** Releases the memory of a long line, which would otherwise stay as long as the stream. */
  #shrink(): void {
    if (this.#line.length > FIRST_SIZE) this.#line = new Uint8Array(FIRST_SIZE)
  }
}

/** Returns the index of the first byte of a line's data; −1 if the line has no data. */
function startOfData(line: Uint8Array): number {
  // The first line may begin with a byte order mark.
  const at = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0
  const colon = at + DATA.length
  if (line.length <= colon || line[colon] !== COLON || !DATA.every((byte, i) => line[at + i] === byte)) return -1
  return line[colon + 1] === SPACE ? colon + 2 : colon + 1
}
