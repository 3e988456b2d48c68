// Run as a program by traffic.mjs: `node server-process.mjs <framework> <server>` starts one server, says on which port, and
// then, whenever it is asked, how much CPU time its process has used.

import { loadFramework } from './frameworks.mjs'

/** The two fields that ours and the floor write. */
const POLICY = /^"quota";q=\d+;w=3600$/
const STATE = /^"quota";r=\d+;t=\d+$/

const [framework, server] = process.argv.slice(2)
const { servers } = await loadFramework(framework)
const found = servers.find(({ name }) => name === server)
if (found === undefined) throw new Error(`${framework} has no server '${server}'`)

process.on('disconnect', () => process.exit())
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
const port = await found.start()
await assertSaysItsQuota(port, found.role)
process.send?.(port)

/**
 * A limiter that does not limit would win, and so would a floor without fields.
 * @param {number} port
 * @param {string} role
 */
async function assertSaysItsQuota(port, role) {
  const { headers } = await fetch(`http://127.0.0.1:${port}/`)
  const hasFields = [...headers.keys()].some((name) => name.includes('ratelimit'))
  if (!hasFields && role !== 'aside') throw new Error('a server does not write the fields of its quota')
  const areOurs = POLICY.test(headers.get('RateLimit-Policy') ?? '') && STATE.test(headers.get('RateLimit') ?? '')
  if (!areOurs && (role === 'sluice' || role === 'floor')) throw new Error('ours and the floor do not write the same two fields')
}
