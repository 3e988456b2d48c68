// The service, with an API key and many policies, whose limits no run reaches. Prints its address as a line of JSON.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig, serve } from 'sluice-server'
import './report-cpu.mjs'

/** Policies of single clients. All other clients have the default policy. */
const POLICIES = 100

const [folder, store, fastChecks, layers] = process.argv.slice(2)
const flags = {
  listen: '127.0.0.1:0',
  resp: '127.0.0.1:0',
  rls: '127.0.0.1:0',
  dataFolder: folder,
  store,
  fastChecks,
  logLevel: 'error',
  failureMode: 'throw',
  failureTimeoutMs: '5000',
}
const rules = { algorithm: 'fixed-window', limit: 1_000_000_000, window: '1h', anchor: 'clock' }
const file = join(folder, 'policies.json')
writeFileSync(file, JSON.stringify({ policies: layersOf(Number(layers)) }))
const loaded = await loadConfig({ flags: { ...flags, config: file } })
let key = ''
const { address, addresses } = await serve({ ...loaded, onFirstKey: (secret) => (key = secret) })
const headers = { 'api-key': key, 'content-type': 'application/json' }
/**
 * @param {string} name
 * @param {object} policy
 */
async function putPolicy(name, policy) {
  const { status } = await fetch(`${address}/v1/policies/${name}`, { method: 'PUT', headers, body: JSON.stringify(policy) })
  if (status !== 200 && status !== 201) throw new Error(`the policy ${name} was answered ${status}`)
}
await putPolicy('default', { rules })
for (let i = 0; i < POLICIES; i++) await putPolicy(`client-${i}`, { client: `client-${i}-*`, route: '/v1/orders', rules })
const portOf = (/** @type {string} */ url) => Number(new URL(url).port)
const rlsPort = portOf(addresses.find((url) => url.startsWith('grpc:')) ?? '')
const respPort = portOf(addresses.find((url) => url.startsWith('redis:')) ?? '')
console.log(JSON.stringify({ port: portOf(address), rlsPort, respPort, key }))

/**
 * Returns a policy for everybody and one for each of `count` organisations, which join the decisions of their requests.
 * @param {number} count
 */
function layersOf(count) {
  if (count === 0) return []
  const applies = 'always'
  const ofOrgs = Array.from({ length: count }, (_, i) => ({
    name: `org-${i}`,
    applies,
    where: { org: `org-${i}` },
    per: 'org',
    rules,
  }))
  return [{ name: 'everybody', applies, per: [], rules }, ...ofOrgs]
}
