// Run as a program by traffic.mjs: makes requests whenever it is told to, and says how many were answered, and in what time.
// Connections are kept alive, with one request under way on each.

import autocannon from 'autocannon'

process.on('disconnect', () => process.exit())
process.on('message', async (/** @type {{ port: number, ms: number }} */ { port, ms }) => {
  const { requests, non2xx, errors, duration } = await autocannon({
    url: `http://127.0.0.1:${port}/`,
    connections: 32,
    duration: ms / 1000,
    sampleInt: Math.min(1000, ms),
  })
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} requests were denied and ${errors} failed`)
  process.send?.({ requests: requests.total, seconds: duration })
})
process.send?.('ready')
