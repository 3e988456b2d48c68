// The Durable Objects that faults run against. The limiters run in this process. A Worker passes their messages on to the objects.

import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { durableObjectStore } from 'sluice/durable-object'
import { freePort } from '../servers/redis-server.mjs'
import { startProxy } from '../servers/tcp-proxy.mjs'
import { makeDisk, startWorker } from '../servers/workerd-server.mjs'

/** @import { Opened } from './clients.mjs' */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A Worker that passes each message on to the object that the path names. */
const CODE = `
export { SluiceObject } from 'sluice/durable-object'

export default {
  fetch(request: Request, env: any) {
    if (request.method !== 'POST') return new Response('started')
    const object = env.SLUICE.idFromName(new URL(request.url).pathname)
    return env.SLUICE.get(object).fetch('https://object/', { method: 'POST', body: request.body })
  },
}
`

/** workerd with Durable Objects. After `kill`, `start` uses the same port and disk. */
class ObjectServer {
  #disk = makeDisk()
  /** @type {Awaited<ReturnType<typeof startWorker>> | undefined} */
  #worker

  /** @param {number} port */
  constructor(port) {
    this.port = port
  }

  get process() {
    return this.#worker?.process
  }

  async start() {
    const objects = { SLUICE: 'SluiceObject' }
    this.#worker = await startWorker({ code: CODE, folder: ROOT, port: this.port, disk: this.#disk, objects })
  }

  async kill() {
    await this.#worker?.stop()
    this.#worker = undefined
  }

  /** @param {NodeJS.Signals} name */
  signal(name) {
    this.#worker?.process.kill(name)
  }

  async stop() {
    await this.kill()
    rmSync(this.#disk, { recursive: true, force: true })
  }
}

export async function objectsBehindProxy() {
  const server = new ObjectServer(await freePort())
  await server.start()
  const proxy = await startProxy(server.port)
  return {
    server,
    proxy,
    open: () => openObjects(proxy.port),
    openObserver: () => openObjects(server.port),
    servers: () => [server],
    leftovers: async () => [],
    async stop() {
      await proxy.stop()
      await server.stop()
    },
  }
}

/**
 * @param {number} port
 * @returns {Opened}
 */
function openObjects(port) {
  const namespace = {
    idFromName: (/** @type {string} */ name) => name,
    get: (/** @type {unknown} */ name) => ({
      fetch: (/** @type {string} */ _url, /** @type {{ method: string, body: string }} */ init) =>
        fetch(`http://127.0.0.1:${port}/${name}`, init),
    }),
  }
  return {
    makeStore: (name) => durableObjectStore(namespace, { name, shards: 3 }),
    connect() {},
    close() {},
    pending: () => 0,
  }
}
