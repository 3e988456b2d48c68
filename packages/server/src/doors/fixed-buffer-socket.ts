// Lets an accepted connection read into a buffer that is used again, without a new buffer and an event for each chunk.
// Node offers this only to sockets that a program makes itself: their option `onread`. So a socket of ours takes over the handle of the
// accepted one. The handle is internal to Node. Where it is missing, or has another form, the accepted socket is used as it is.
// Invariant: the accepted socket ends with ours, because the server counts its connections by it.

import { type OnReadOpts, Socket } from 'node:net'

/** Length of a buffer for input: the most that Node reads at once. */
export const INPUT_BYTES = 64 * 1024

interface WithHandle {
  _handle?: { readonly useUserBuffer?: unknown } | null
}

/** Returns a socket that passes its input to `onread`; undefined if this is not possible. Then `accepted` is as before. */
export function fixedBufferSocket(accepted: Socket, onread: OnReadOpts): Socket | undefined {
  const owner = accepted as WithHandle
  const handle = owner._handle
  // Sockets of TLS have a subclass, and a handle that belongs to it.
  if (accepted.constructor !== Socket || typeof handle?.useUserBuffer !== 'function') return undefined
  owner._handle = null
  const { allowHalfOpen } = accepted
  const socket = new Socket({ handle, onread, allowHalfOpen } as ConstructorParameters<typeof Socket>[0])
  socket.on('close', () => accepted.destroy())
  return socket
}
