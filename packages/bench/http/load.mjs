// Run as a program by traffic.mjs: makes requests on command, and reports the number of responses and the time.
// Connections are kept alive, with one request under way on each. It never sleeps between answers: a server would have to wake
// it, which on a virtual machine takes as long as a good part of an answer, and takes a fast server longer than a slow one.

import autocannon from 'autocannon'

/** At most the length of a turn: autocannon counts in samples. */
const SAMPLE_MS = 100

process.on('disconnect', () => process.exit())

/** Looks for answers without a pause until the returned function is called. */
function stayAwake() {
  let isOver = false
  const look = () => {
    if (!isOver) setImmediate(look)
  }
  look()
  return () => {
    isOver = true
  }
}

/** A turn of some seconds, or of so many requests. @typedef {{ port: number, duration: number } | { port: number, amount: number }} Order */

process.on('message', async (/** @type {Order} */ { port, ...extent }) => {
  const rest = stayAwake()
  const { requests, non2xx, errors, duration } = await autocannon({
    url: `http://127.0.0.1:${port}/`,
    connections: 32,
    sampleInt: SAMPLE_MS,
    ...extent,
  })
  rest()
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} requests were denied and ${errors} failed`)
  process.send?.({ requests: requests.total, seconds: duration })
})
process.send?.('ready')
