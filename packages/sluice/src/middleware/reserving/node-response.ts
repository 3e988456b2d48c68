// Follows a response of node:http or node:http2: counts the bytes of its body, and reports its end once.
// Invariant: the end is reported also if the connection breaks, before or after this, or while the response waits for others on it.

import type { NodeResponse } from '../gate/node-adapter.ts'

/** The part of a `ServerResponse` that is used here. */
interface FollowedResponse extends Omit<NodeResponse, 'end' | 'once'> {
  readonly writableFinished?: boolean
  readonly req?: FollowedRequest
  /** Only in HTTP/2. `rstCode` is 0 if nobody reset the stream. */
  readonly stream?: { readonly destroyed?: boolean; readonly rstCode?: number }
  once(event: 'close' | 'finish', listener: () => void): unknown
  write(...args: unknown[]): boolean
  end(...args: unknown[]): unknown
}

interface FollowedRequest {
  readonly method?: string
  readonly httpVersionMajor?: number
  readonly socket?: FollowedSocket
}

interface FollowedSocket {
  readonly destroyed?: boolean
  once(event: 'close', listener: () => void): unknown
}

export interface NodeFollower {
  /** Called with each chunk of the body. */
  onChunk(chunk: string | Uint8Array): void
  /** Called once. False: the connection broke before all was sent. */
  onEnd(isComplete: boolean): void
}

export function followNodeResponse(followed: NodeResponse, { onChunk, onEnd }: NodeFollower): void {
  const response = followed as unknown as FollowedResponse
  const { req, stream } = response
  let isOpen = true
  let isSent = false
  const end = (): void => {
    if (!isOpen) return
    isOpen = false
    forget()
    onEnd(stream === undefined ? isSent : response.writableEnded && stream.rstCode === 0)
  }
  // A response also finishes if it is ended after its connection broke.
  response.once('finish', () => {
    isSent = req?.socket?.destroyed !== true
  })
  // A response that waits behind others on its connection hears nothing if the connection breaks, so its socket is asked.
  const forget = req?.httpVersionMajor === 1 && req.socket !== undefined ? onSocketClose(req.socket, end) : () => {}
  response.once('close', end)
  if (req?.method !== 'HEAD') watchBody(response, (chunk) => isOpen && onChunk(chunk))
  // The store may have answered after the connection broke, or after another handler has sent a response.
  if (stream === undefined && response.writableFinished === true) isSent = true
  if (isSent || req?.socket?.destroyed === true || stream?.destroyed === true) end()
}

/** Reports the chunks that are written to a response. */
function watchBody(response: FollowedResponse, onChunk: (chunk: string | Uint8Array) => void): void {
  const { write, end } = response
  /** True while `end` runs, which calls `write` in HTTP/2. */
  let isEnding = false
  const note = ([chunk, encoding]: readonly unknown[]): void => {
    // A chunk after the end is not sent.
    if (isEnding || response.writableEnded) return
    if (typeof chunk === 'string') onChunk(bytesIfEncoded(chunk, encoding))
    else if (chunk instanceof Uint8Array) onChunk(chunk)
  }
  response.write = (...args) => {
    note(args)
    return write.apply(response, args)
  }
  response.end = (...args) => {
    note(args)
    isEnding = true
    try {
      return end.apply(response, args)
    } finally {
      isEnding = false
    }
  }
}

/** Returns the bytes of a text that is sent in another encoding than UTF-8; otherwise the text. */
function bytesIfEncoded(text: string, encoding: unknown): string | Uint8Array {
  if (typeof encoding !== 'string' || /^utf-?8$/i.test(encoding)) return text
  // biome-ignore lint/style/noRestrictedGlobals: only runtimes with node:http come here, and an import would stop bundles for others.
  const { isEncoding, from } = Buffer
  return isEncoding(encoding) ? from(text, encoding) : text
}

/** Callbacks of the responses on a socket. There is one listener on each socket, because a client may send any number of requests. */
const CALLBACKS = new WeakMap<object, Set<() => void>>()

/** Calls `callback` when the socket closes. Returns a function that prevents this. */
function onSocketClose(socket: FollowedSocket, callback: () => void): () => void {
  let callbacks = CALLBACKS.get(socket)
  if (callbacks === undefined) {
    const made = new Set<() => void>()
    CALLBACKS.set(socket, made)
    socket.once('close', () => {
      for (const each of [...made]) each()
    })
    callbacks = made
  }
  callbacks.add(callback)
  return () => callbacks.delete(callback)
}
