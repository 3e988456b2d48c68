// The form in which gRPC sends a message: a byte that is 1 if it is compressed, its length in four bytes, and the message.

export const PREFIX_BYTES = 5

/** Returns the length of a frame with its prefix. */
export function frameLength(prefix: Buffer): number {
  return PREFIX_BYTES + prefix.readUInt32BE(1)
}
