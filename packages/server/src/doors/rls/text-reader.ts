// Reads the texts of messages. protobufjs replaces bytes that are not UTF-8 by U+FFFD, and different values would become equal.
// Invariant: different bytes give different texts, up to collisions of SHA-256. No text is refused, because clients choose it.

import { isUtf8 } from 'node:buffer'
import protobuf from 'protobufjs'
import { shortClientId } from '../short-client-id.ts'

const REPLACEMENT = '\ufffd'

export class TextReader extends protobuf.BufferReader {
  override string(): string {
    const start = this.pos
    const text = super.string()
    if (!text.includes(REPLACEMENT)) return text
    this.pos = start
    const bytes = Buffer.from(this.bytes())
    return isUtf8(bytes) ? text : shortClientId(bytes)
  }
}
