// Passes a web stream through, and reports its chunks and its end.
// Invariant: `onEnd` is called once, and the stream's end is passed on after it.

/** The end of a stream: all chunks were read, the reader cancelled it, or its source failed. */
export type StreamOutcome = 'end' | 'cancel' | 'error'

export interface StreamWatcher<C> {
  /** Called with each chunk, before it is passed on. Must not throw. */
  onChunk(chunk: C): void
  /** Must not reject. */
  onEnd(outcome: StreamOutcome): Promise<unknown>
}

/** Returns a stream with the same chunks. It reads a chunk from `stream` only if its own reader asks for one. */
export function watchStream<C>(stream: ReadableStream<C>, { onChunk, onEnd }: StreamWatcher<C>): ReadableStream<C> {
  const reader = stream.getReader()
  let hasEnded = false
  const end = async (outcome: StreamOutcome): Promise<void> => {
    if (hasEnded) return
    hasEnded = true
    await onEnd(outcome)
  }
  return new ReadableStream<C>(
    {
      async pull(controller) {
        const next = await reader.read().catch(async (error: unknown) => {
          await end('error')
          throw error
        })
        // A cancelled stream takes no chunk any more.
        if (hasEnded) return
        if (next.done) {
          await end('end')
          controller.close()
        } else {
          onChunk(next.value)
          controller.enqueue(next.value)
        }
      },
      async cancel(reason) {
        // The source may take long to cancel, or fail. The end is reported at once.
        await Promise.all([reader.cancel(reason), end('cancel')])
      },
    },
    { highWaterMark: 0 },
  )
}
