// The service, with a limit that no run reaches. Prints its address as a line of JSON.

import { loadConfig, serve } from 'sluice-server'

const [folder, store] = process.argv.slice(2)
const flags = {
  listen: '127.0.0.1:0',
  dataFolder: folder,
  store,
  logLevel: 'error',
  failureMode: 'throw',
  failureTimeoutMs: '5000',
}
const { config } = await loadConfig({ flags })
let key = ''
const { address } = await serve({ config, onFirstKey: (secret) => (key = secret) })
const headers = { 'api-key': key, 'content-type': 'application/json' }
const rules = { algorithm: 'fixed-window', limit: 1_000_000_000, window: '1h', anchor: 'clock' }
const { status } = await fetch(`${address}/v1/policies/default`, { method: 'PUT', headers, body: JSON.stringify({ rules }) })
if (status !== 200) throw new Error(`the policy was answered ${status}`)
console.log(JSON.stringify({ port: Number(new URL(address).port), key }))
