// The servers of a soak: one shared store, and two instances of the built service.

import { until } from '../servers/redis-server.mjs'
import { SluiceService, sluice } from '../servers/sluice-service.mjs'
import { Asker } from './asker.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { SoakStore } from './stores.mjs' */

/** Deadline of the store, long enough for a busy machine. */
const FAILURE_TIMEOUT_MS = 500

const STARTS = 3
const STOPS_WITHIN_MS = 30_000

/** One instance. After each restart it has a new process and a new `Asker`. */
export class Instance {
  /** @type {Asker} */
  asker

  /**
   * @param {string} name
   * @param {string} storeUrl
   */
  constructor(name, storeUrl) {
    this.name = name
    this.service = new SluiceService({
      args: [...['--store', storeUrl, '--failure-timeout-ms', String(FAILURE_TIMEOUT_MS)], ...['--log-level', 'warn']],
    })
    this.asker = new Asker(name, 'http://127.0.0.1:1')
  }

  get pid() {
    return this.service.process?.pid
  }

  /** Starts the process. Retries, because a busy machine may be too slow. */
  async start() {
    for (let left = STARTS; ; left--) {
      try {
        await this.service.start()
        break
      } catch (error) {
        await this.service.kill()
        if (left === 1) throw error
      }
    }
    this.asker = new Asker(this.name, this.service.url)
  }

  /** Kills the process under load. */
  async kill() {
    this.asker.isKilled = true
    await this.service.kill()
    this.asker.close()
  }

  /** Stops the process as an operator does. Returns its exit code, or 'late'. */
  async drain() {
    const { asker } = this
    const ended = this.service.end('SIGTERM')
    /** @type {Promise<'late'>} */
    const late = new Promise((resolve) => setTimeout(resolve, STOPS_WITHIN_MS, 'late').unref())
    const code = await Promise.race([ended, late])
    asker.close()
    return code
  }
}

export class Fleet {
  /** @type {readonly Instance[]} */
  instances = []
  adminKey = ''

  /** @param {SoakStore} store */
  constructor(store) {
    this.store = store
  }

  /** An instance that accepts requests. @param {Random} random */
  pick(random) {
    const open = this.instances.filter(({ asker }) => asker.isOpen)
    return random.pick(open.length > 0 ? open : this.instances).asker
  }

  /** @param {string} name */
  instance(name) {
    const found = this.instances.find((instance) => instance.name === name)
    if (found === undefined) throw new Error(`there is no instance ${name}`)
    return found
  }

  /**
   * Runs a `sluice` command against one instance.
   * @param {Instance} instance
   * @param {...string} args
   */
  sluice({ service }, ...args) {
    return sluice(args, { env: { SLUICE_URL: service.url, SLUICE_API_KEY: this.adminKey } })
  }

  async stop() {
    for (const { asker, service } of this.instances) {
      asker.isKilled = true
      asker.close()
      await service.remove()
    }
    await this.store.stop()
  }
}

/** @param {SoakStore} store */
export async function startFleet(store) {
  const fleet = new Fleet(store)
  // Kills all processes even if the soak fails.
  process.once('exit', () => {
    for (const { service } of fleet.instances) service.process?.kill('SIGKILL')
  })
  try {
    await store.start()
    fleet.instances = ['a', 'b'].map((name) => new Instance(name, store.url))
    // Starts one after the other, because the first creates the admin key.
    for (const instance of fleet.instances) await instance.start()
    fleet.adminKey = fleet.instances[0].service.key
    await until('both instances to know the admin key', async () => {
      const answers = await Promise.all(
        fleet.instances.map(({ asker }) => asker.ask('GET', '/v1/policies', { key: fleet.adminKey })),
      )
      return answers.every(({ status }) => status === 200)
    })
    return fleet
  } catch (error) {
    await fleet.stop()
    throw error
  }
}
