// Runs the built service as a separate process. Tests read its output.

import { loadConfig, runUntilSignal, serve } from '../dist/index.js'

const { config, file } = await loadConfig({ env: process.env })
// Signals are handled from the start, because a test may send one as soon as it reads the address.
await runUntilSignal(async (signal) => {
  const service = await serve({ config, file, signal, onFirstKey: (secret) => console.log(`key ${secret}`) })
  console.log(`address ${service.address}`)
  return service
})
console.log('stopped')
process.exit(0)
