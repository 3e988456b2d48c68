// API keys that are made, used, replaced and revoked all the time. A key that was seen at work on both instances works until
// it is revoked. A key that was seen refused on both is refused for ever.

import { setTimeout as pause } from 'node:timers/promises'
import { DOORS } from './doors.mjs'
import { KEY_USE } from './policies.mjs'
import { explain } from './soak-context.mjs'
import { spreads, untilNone } from './spread.mjs'
import { Turns } from './turns.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Answer, Asker } from './asker.mjs' */
/** @import { Soak } from './soak-context.mjs' */

const EVERY_MS = 300
const USE_EVERY_MS = 60
const FEWEST_ALIVE = 5
const MOST_ALIVE = 12

/** Revoked keys that a roll call tries: the last ones, and some of all others. */
const TRIED_LAST = 20
const TRIED_OTHERS = 10

/** Revoked keys that are remembered. */
const MOST_DEAD = 5000

/** @typedef {{ id: string, name: string, secret: string, isEverywhere: boolean }} Key */

export class KeyRotation {
  /** @type {Key[]} */
  #alive = []
  /** Revoked, and acknowledged. @type {Key[]} */
  #dead = []
  /** Their revocation was sent, and nobody knows what became of it. It is sent again. @type {Key[]} */
  #doubtful = []
  #made = 0
  /** Between a change and the end of its spreading nobody calls the roll. */
  turns = new Turns()

  /**
   * @param {Soak} soak
   * @param {Random} random
   */
  constructor(soak, random) {
    this.soak = soak
    this.random = random
  }

  /** Makes, replaces and revokes keys until the soak is over. */
  async run() {
    while (!this.soak.isOver) {
      await this.turns.take(() => this.#step())
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

  /** Uses keys, living and dead, until the soak is over. */
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
    // It may have been revoked meanwhile.
    if (key.isEverywhere) for (const text of complaints) this.soak.weather.complain('change', text)
  }

  async #make() {
    this.#made += 1
    await this.#add('/v1/keys', { name: `rotating-${this.#made}`, scopes: ['check', 'read'] })
  }

  /** A second key of the same name; then the first is revoked. */
  async #replace() {
    const old = this.random.pick(this.#alive)
    const isMade = await this.#add(`/v1/keys/${old.id}/rotate`, {}, old.isEverywhere)
    if (isMade || !this.soak.weather.isCalm) await this.#revoke(old)
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
      if (isCalm && isExpected) soak.weather.complainOfCalm('answer', `POST ${path}: ${explain(answer)}`)
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
    // An instance may not have heard of the key yet.
    const isExpected = key.isEverywhere
    key.isEverywhere = false
    const { answer, isCalm } = await soak.ask(asker, 'DELETE', `/v1/keys/${key.id}`)
    if (answer.status !== 200) {
      this.#doubtful.push(key)
      if (isCalm && isExpected) soak.weather.complainOfCalm('answer', `key ${key.id} could not be revoked: ${explain(answer)}`)
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
    return DOORS[0].ask(asker, key.secret, { client: `${KEY_USE.name}-${key.name}`, route: '/key', costs: [1] })
  }

  /**
   * Presents a key to an instance; → the complaint if it is not treated as it must be.
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
  rollCall(when, isCutOff) {
    const { random, soak } = this
    return this.turns.take(async () => {
      const older = this.#dead.slice(0, -TRIED_LAST)
      const dead = this.#dead.slice(-TRIED_LAST)
      for (let i = 0; i < TRIED_OTHERS && older.length > 0; i++) dead.push(random.pick(older))
      const called = [...this.#alive, ...dead].filter(({ isEverywhere }) => isEverywhere || !isCutOff)
      for (const { asker } of soak.fleet.instances) {
        for (const key of called) {
          const look = () => this.#complaint(key, this.#alive.includes(key), asker)
          const complaints = key.isEverywhere ? await look() : await untilNone(look)
          for (const text of complaints) soak.weather.complain('change', `${text}, ${when}`)
        }
      }
      if (soak.weather.isCalm) for (const key of called) key.isEverywhere = true
    })
  }
}

/** @param {Answer} answer */
function isLetIn({ status }) {
  return status === 200
}

/** Many refused requests from one address are told to slow down instead. @param {Answer} answer */
function isRefused({ status }) {
  return status === 401 || status === 429
}
