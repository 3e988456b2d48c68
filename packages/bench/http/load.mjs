// Run as a program by traffic.mjs: makes requests whenever it is told to, and says how many were answered, and in what time.
// Connections are kept alive, with one request under way on each. It never sleeps between answers: a server would have to wake
// it, which on a virtual machine takes as long as a good part of an answer, and takes a fast server longer than a slow one.

import autocannon from 'autocannon'

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

process.on('message', async (/** @type {{ port: number, ms: number }} */ { port, ms }) => {
  const rest = stayAwake()
  const { requests, non2xx, errors, duration } = await autocannon({
    url: `http://127.0.0.1:${port}/`,
    connections: 32,
    duration: ms / 1000,
    sampleInt: Math.min(1000, ms),
  })
  rest()
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} requests were denied and ${errors} failed`)
  process.send?.({ requests: requests.total, seconds: duration })
})
process.send?.('ready')
