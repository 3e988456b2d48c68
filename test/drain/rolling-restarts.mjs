// Two instances on one Redis behind the nginx of docs/guides/running-the-service.md, restarted in turn while clients ask.

import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { startNginx } from '../servers/nginx-server.mjs'
import { freePort, startRedis, until } from '../servers/redis-server.mjs'
import { SluiceService } from '../servers/sluice-service.mjs'

const GUIDE = readFileSync(new URL('../../docs/guides/running-the-service.md', import.meta.url), 'utf8')
const RECIPE = /^```nginx\n([\s\S]*?)^```$/m.exec(GUIDE)?.[1] ?? ''

/** Pause between two requests of one client. Connections become idle, and starting instances get processor time. */
const THINK_MS = 5

/** A limit above the requests of any run. */
const RULE = '100000000/day'

/**
 * @typedef {object} Result
 * @property {number} requests requests that were sent
 * @property {number} restarts completed restarts during the requests
 * @property {string[]} failures one line for each request that was not answered 200
 * @property {number} counted units in Redis
 * @property {number[]} exitCodes exit codes of the stopped instances
 */

/**
 * @param {object} options
 * @param {number} options.requests
 * @param {number} options.connections connections from clients to nginx, each with one request at a time
 * @param {number} options.leastRestarts requests continue until this many restarts are done
 * @returns {Promise<Result>}
 */
export async function rollingRestarts({ requests, connections, leastRestarts }) {
  const redis = await startRedis()
  const args = ['--store', `redis://127.0.0.1:${redis.port}`, '--failure-timeout-ms', '5000', '--failure-mode', 'throw']
  const ports = [await freePort(), await freePort()]
  const instances = ports.map(
    (port) => new SluiceService({ args: [...args, '--listen', `127.0.0.1:${port}`, '--log-level', 'warn'] }),
  )
  const port = await freePort()
  /** @type {{ stop(): Promise<void> } | undefined} */
  let nginx
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  try {
    // The first instance creates the admin key, which both use.
    for (const instance of instances) await instance.start()
    const [{ key }] = instances
    await call(instances[0], key, 'PUT', '/v1/policies/default', { rules: RULE })
    await until('both to have the policy', async () => {
      const all = await Promise.all(instances.map((each) => call(each, key, 'GET', '/v1/policies/default')))
      return all.every(({ data }) => [data.rules].flat().includes(RULE))
    })
    nginx = await startNginx(port, filledIn(port, ports))
    return await load({ requests, connections, leastRestarts, agent, port, key, instances })
  } finally {
    agent.destroy()
    await nginx?.stop()
    await Promise.all(instances.map((instance) => instance.remove()))
    await redis.stop()
  }
}

/**
 * The recipe with its addresses replaced. Every address must occur in it.
 * @param {number} port
 * @param {number[]} ports
 */
function filledIn(port, ports) {
  const changes = [
    ['127.0.0.1:8081', `127.0.0.1:${ports[0]}`],
    ['127.0.0.1:8082', `127.0.0.1:${ports[1]}`],
    ['listen 80;', `listen 127.0.0.1:${port};`],
  ]
  return changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the recipe has no ${from}`)
    return text.replace(from, to)
  }, RECIPE)
}

/**
 * @param {object} options
 * @param {number} options.requests
 * @param {number} options.connections
 * @param {number} options.leastRestarts
 * @param {Agent} options.agent
 * @param {number} options.port
 * @param {string} options.key
 * @param {SluiceService[]} options.instances
 * @returns {Promise<Result>}
 */
async function load({ requests, connections, leastRestarts, agent, port, key, instances }) {
  /** @type {string[]} */
  const failures = []
  /** @type {number[]} */
  const exitCodes = []
  let sent = 0
  let restarts = 0
  const isEnough = () => sent >= requests && restarts >= leastRestarts
  const client = async () => {
    while (!isEnough()) {
      sent += 1
      const result = await check(agent, port, key)
      if (result !== '200') failures.push(result)
      await pause(THINK_MS)
    }
  }
  const restart = async () => {
    for (let i = 0; !isEnough(); i = 1 - i) {
      exitCodes.push((await instances[i].stop()) ?? -1)
      await instances[i].start()
      restarts += 1
    }
  }
  await Promise.all([restart(), ...Array.from({ length: connections }, client)])
  const { data } = await call(instances[0], key, 'GET', '/v1/usage?client_id=ada&route=/a')
  return { requests: sent, restarts, failures, counted: data.rules[0].used, exitCodes }
}

const BODY = JSON.stringify({ client_id: 'ada', route: '/a' })

/**
 * Makes one check through nginx. Returns its status, or the error.
 * @param {Agent} agent
 * @param {number} port
 * @param {string} key
 * @returns {Promise<string>}
 */
function check(agent, port, key) {
  const headers = { 'api-key': key, 'content-type': 'application/json', 'content-length': BODY.length }
  return new Promise((resolve) => {
    const asked = request({ port, host: '127.0.0.1', agent, method: 'POST', path: '/v1/check', headers }, (response) => {
      response.resume().on('end', () => resolve(String(response.statusCode)))
      response.on('error', (error) => resolve(error.message))
    })
    asked.on('error', (error) => resolve(error.message))
    asked.end(BODY)
  })
}

/**
 * @param {SluiceService} instance
 * @param {string} key
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
async function call(instance, key, method, path, body) {
  const response = await fetch(instance.url + path, {
    method,
    headers: { 'api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return response.json()
}
