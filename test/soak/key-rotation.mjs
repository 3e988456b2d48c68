// Creates, uses, replaces and revokes API keys all the time. A key that was accepted by both instances works until it is
// revoked. A key that was refused by both is refused for ever.

import { setTimeout as pause } from 'node:timers/promises'
import { ENDPOINTS } from './endpoints.mjs'
import { KEY_USE } from './policies.mjs'
import { SerialQueue } from './serial-queue.mjs'
import { explain } from './soak-context.mjs'
import { spreads, untilNone } from './spread.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Answer, Asker } from './asker.mjs' */
/** @import { Soak } from './soak-context.mjs' */

const EVERY_MS = 300
const USE_EVERY_MS = 60
const FEWEST_ALIVE = 5
const MOST_ALIVE = 12

/** Revoked keys that one verification tries: the latest, and a sample of the others. */
const TRIED_LAST = 20
const TRIED_OTHERS = 10

/** Largest number of revoked keys that are remembered. */
const MOST_DEAD = 5000

/** @typedef {{ id: string, name: string, secret: string, isEverywhere: boolean }} Key */

export class KeyRotation {
  /** @type {Key[]} */
  #alive = []
  /** Keys whose revocation was acknowledged. @type {Key[]} */
  #dead = []
  /** Keys whose revocation was sent without a certain answer. It is sent again. @type {Key[]} */
  #doubtful = []
  #made = 0
  /** Runs changes and verifications one after the other, so that no verification sees a half-spread change. */
  queue = new SerialQueue()

  /**
   * @param {Soak} soak
   * @param {Random} random
   */
  constructor(soak, random) {
    this.soak = soak
    this.random = random
  }

  /** Creates, replaces and revokes keys until the soak is over. */
  async run() {
    while (!this.soak.isOver) {
      await this.queue.run(() => this.#step())
      await pause(EVERY_MS)
    }
  }

  #step() {
    const [doubtful] = this.#doubtful
    if (doubtful !== undefined) return this.#revoke(doubtful)
    if (this.#alive.length < FEWEST_ALIVE) return this.#make()
    const revokeOne = () => this.#revoke(this.random.pick(this.#alive))
    if (this.#alive.length > MOST_ALIVE) return revokeOne()
    return this.random.pick([() => this.#make(), () => this.#replace(), revokeOne])()
  }

  /** Uses valid and revoked keys until the soak is over. */
  async use() {
    const { soak, random } = this
    while (!soak.isOver) {
      const isAlive = random.whole(1, 5) > 1
      const known = (isAlive ? this.#alive : this.#dead).filter(({ isEverywhere }) => isEverywhere)
      if (known.length > 0) await this.#use(random.pick(known), isAlive)
      await pause(USE_EVERY_MS)
    }
  }

  /**
   * @param {Key} key
   * @param {boolean} isAlive
   */
  async #use(key, isAlive) {
    const complaints = await this.#complaint(key, isAlive, this.soak.fleet.pick(this.random))
    // The key may have been revoked in the meantime.
    if (key.isEverywhere) for (const text of complaints) this.soak.phases.complain('change', text)
  }

  async #make() {
    this.#made += 1
    await this.#add('/v1/keys', { name: `rotating-${this.#made}`, scopes: ['check', 'read'] })
  }

  /** Creates a second key with the same name, then revokes the first. */
  async #replace() {
    const old = this.random.pick(this.#alive)
    const isMade = await this.#add(`/v1/keys/${old.id}/rotate`, {}, old.isEverywhere)
    if (isMade || !this.soak.phases.isCalm) await this.#revoke(old)
  }

  /**
   * @param {string} path
   * @param {unknown} body
   * @param {boolean} isExpected false if the instance may not have heard of the key in the path yet
   */
  async #add(path, body, isExpected = true) {
    const { soak, random } = this
    const asker = soak.fleet.pick(random)
    const { answer, isCalm } = await soak.ask(asker, 'POST', path, body)
    if (answer.status !== 201) {
      if (isCalm && isExpected) soak.phases.complainOfCalm('answer', `POST ${path}: ${explain(answer)}`)
      return false
    }
    soak.acknowledged += 1
    const { key, secret } = answer.body.data
    const made = { id: key.id, name: key.name, secret, isEverywhere: false }
    this.#alive.push(made)
    made.isEverywhere = await spreads(soak, `key ${made.id}`, asker, async (on) => isLetIn(await this.#present(made, on)))
    return true
  }

  /** @param {Key} key */
  async #revoke(key) {
    const { soak, random } = this
    const asker = soak.fleet.pick(random)
    this.#alive = this.#alive.filter((other) => other !== key)
    this.#doubtful = this.#doubtful.filter((other) => other !== key)
    // An instance may not know the key yet.
    const isExpected = key.isEverywhere
    key.isEverywhere = false
    const { answer, isCalm } = await soak.ask(asker, 'DELETE', `/v1/keys/${key.id}`)
    if (answer.status !== 200) {
      this.#doubtful.push(key)
      if (isCalm && isExpected) soak.phases.complainOfCalm('answer', `key ${key.id} could not be revoked: ${explain(answer)}`)
      return
    }
    soak.acknowledged += 1
    this.#dead.push(key)
    if (this.#dead.length > MOST_DEAD) this.#dead.shift()
    const revocation = `the revocation of key ${key.id}`
    key.isEverywhere = await spreads(soak, revocation, asker, async (on) => isRefused(await this.#present(key, on)))
  }

  /**
   * @param {Key} key
   * @param {Asker} asker
   */
  async #present(key, asker) {
    this.soak.requests += 1
    return ENDPOINTS[0].ask(asker, key.secret, { client: `${KEY_USE.name}-${key.name}`, route: '/key', costs: [1] })
  }

  /**
   * Uses a key on an instance. Returns a complaint if the instance treats it wrongly.
   * @param {Key} key
   * @param {boolean} isAlive
   * @param {Asker} asker
   */
  async #complaint(key, isAlive, asker) {
    const answer = await this.#present(key, asker)
    if (asker.isKilled || (isAlive ? isLetIn(answer) : isRefused(answer))) return []
    return [`key ${key.id}, ${isAlive ? 'alive' : 'revoked'}, on ${asker.name}: ${explain(answer)}`]
  }

  /**
   * @param {string} when
   * @param {boolean} isCutOff
   */
  verify(when, isCutOff) {
    const { random, soak } = this
    return this.queue.run(async () => {
      const older = this.#dead.slice(0, -TRIED_LAST)
      const dead = this.#dead.slice(-TRIED_LAST)
      for (let i = 0; i < TRIED_OTHERS && older.length > 0; i++) dead.push(random.pick(older))
      const called = [...this.#alive, ...dead].filter(({ isEverywhere }) => isEverywhere || !isCutOff)
      for (const { asker } of soak.fleet.instances) {
        for (const key of called) {
          const look = () => this.#complaint(key, this.#alive.includes(key), asker)
          const complaints = key.isEverywhere ? await look() : await untilNone(look)
          for (const text of complaints) soak.phases.complain('change', `${text}, ${when}`)
        }
      }
      if (soak.phases.isCalm) for (const key of called) key.isEverywhere = true
    })
  }
}

/** @param {Answer} answer */
function isLetIn({ status }) {
  return status === 200
}

/** Status 429 replaces 401 after many refused requests from one address. @param {Answer} answer */
function isRefused({ status }) {
  return status === 401 || status === 429
}
