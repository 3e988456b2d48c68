// Runs the built service as a separate process. Tests read its output.

import { loadConfig, runUntilSignal, serve } from '../dist/index.js'

const { config, file } = await loadConfig({ env: process.env })
const service = await serve({ config, file, onFirstKey: (secret) => console.log(`key ${secret}`) })
console.log(`address ${service.address}`)
await runUntilSignal(service)
console.log('stopped')
process.exit(0)
