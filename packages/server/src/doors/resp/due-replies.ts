// The replies of one connection that are not sent yet, because one of them waits for the store.
// Invariant: replies are sent in the order of their commands.

/** The place of a reply among the others. */
export interface DueReply {
  /** Undefined until the reply is known. */
  bytes: Buffer | undefined
}

export class DueReplies {
  #due: DueReply[] = []
  /** Bytes of the replies that are known. */
  bytes = 0

  get count(): number {
    return this.#due.length
  }

  /** Adds a place. */
  add(bytes: Buffer | undefined): DueReply {
    const due = { bytes }
    this.#due.push(due)
    if (bytes !== undefined) this.bytes += bytes.length
    return due
  }

  /** Notes a reply that was not known before. */
  settle(due: DueReply, bytes: Buffer): void {
    due.bytes = bytes
    this.bytes += bytes.length
  }

  /** Returns the bytes of the first replies, up to one that is not known; undefined if the first is not known. */
  take(): Buffer | undefined {
    const due = this.#due
    const unknown = due.findIndex(({ bytes }) => bytes === undefined)
    const count = unknown < 0 ? due.length : unknown
    if (count === 0) return undefined
    const known = unknown < 0 ? due : due.splice(0, count)
    if (unknown < 0) this.#due = []
    const taken = Buffer.concat(known.map(({ bytes }) => bytes as Buffer))
    this.bytes -= taken.length
    return taken
  }
}
