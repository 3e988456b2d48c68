// Keys that many requests use before, during and after one fault, and keys that are idle during it. The first must stay
// within the bounds of the guide, the second must keep their exact count.

import { mostAdmitted, mostLost } from '../faults/bounds.mjs'
import { until } from '../servers/redis-server.mjs'
import { ENDPOINTS } from './endpoints.mjs'
import { FREE_LIMIT, HOT_LIMIT, IDLE } from './policies.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Soak } from './soak-context.mjs' */
/** @import { Fault } from './faults.mjs' */

/** `hot` reaches its limit before most faults, `warm` during them, `free` never. */
const KINDS = [
  { name: 'hot', policy: 'hot', limit: HOT_LIMIT, everyMs: 12 },
  { name: 'warm', policy: 'hot', limit: HOT_LIMIT, everyMs: 50 },
  { name: 'free', policy: 'free', limit: FREE_LIMIT, everyMs: 25 },
]

const MOST_UNDER_WAY = 40
const IDLE_KEYS = 9

/** One key with many requests. */
class FaultKey {
  /** Units that the store granted in calms: since it last lost its counts, and before that. */
  granted = 0
  grantedBefore = 0
  /** Units granted during the fault, with or without the store. */
  grantedInFault = 0
  /** Requests without a certain answer of the store. It may have counted them, or may still. */
  doubtful = 0
  underWay = 0
  /** Number of times that the store lost its counts. */
  forgets = 0
  /** Number of the count that a request belongs to. Increases with each loss. */
  era = 0

  /**
   * @param {string} client
   * @param {number} limit
   */
  constructor(client, limit) {
    this.client = client
    this.limit = limit
  }

  /** Called when the store has lost its count. Open requests may be counted in the new one. */
  forget() {
    this.grantedBefore += this.granted
    this.granted = 0
    this.doubtful = this.underWay
    this.forgets += 1
    this.era += 1
  }
}

export class FaultKeys {
  /** @type {NodeJS.Timeout[]} */
  #timers = []
  /** @type {{ client: string, used: number }[]} */
  #idle = []

  /**
   * @param {Soak} soak
   * @param {Random} random
   */
  constructor(soak, random) {
    this.soak = soak
    this.random = random
    this.disturbedBefore = soak.phases.disturbed
    this.number = soak.nextNumber()
    this.keys = KINDS.map(({ name, policy, limit }) => new FaultKey(`${policy}-${name}-${this.number}`, limit))
  }

  /** True if the machine disturbed the calm before the fault. Then some decisions were made without the store. */
  get #isDisturbed() {
    return this.soak.phases.disturbed !== this.disturbedBefore
  }

  start() {
    this.#timers = KINDS.map(({ everyMs }, i) => setInterval(() => this.#hit(this.keys[i]), everyMs).unref())
  }

  /** Spends units on keys that stay idle until the fault is over. */
  async spendOnIdleKeys() {
    const { soak, random } = this
    for (let i = 0; i < IDLE_KEYS; i++) {
      const { name } = IDLE[i % IDLE.length]
      const [client, used] = [`${name}-${this.number}-${i}`, random.whole(1, 100)]
      const { decided, isCalm } = await soak.decide(random, ENDPOINTS[0], { client, route: '/idle', costs: [used] })
      if (decided?.[0].allowed && isCalm) this.#idle.push({ client, used })
    }
  }

  /** Checks that idle keys have the same counts as before the fault, or none if the store lost them. @param {Fault} fault */
  async checkIdleKeys({ forgets }) {
    const { soak, random } = this
    if (this.#isDisturbed) return
    for (const { client, used } of this.#idle) {
      const query = new URLSearchParams({ client_id: client, route: '/idle' })
      const { answer, isCalm } = await soak.ask(soak.fleet.pick(random), 'GET', `/v1/usage?${query}`)
      if (!isCalm) return
      const counted = answer.body?.data?.rules?.[0].used
      const expected = forgets > 0 ? 0 : used
      if (counted !== expected) {
        const text = `${client} on ${answer.asker.name}: ${counted} used after the fault, expected ${expected}`
        soak.phases.complainOfCalm('answer', text)
      }
    }
  }

  /** Called when the store loses its counts. */
  forget() {
    for (const key of this.keys) key.forget()
  }

  /** Stops the traffic and checks the bounds of each key. @param {Fault} fault */
  async finish({ standIns }) {
    for (const timer of this.#timers) clearInterval(timer)
    const { phases } = this.soak
    if (this.#isDisturbed) return
    await until('requests to be answered', async () => this.keys.every(({ underWay }) => underWay === 0))
    for (const key of this.keys) {
      const { client, limit, forgets, granted, grantedBefore, grantedInFault, doubtful } = key
      const lost = mostLost(limit, forgets)
      const byStore = granted + grantedBefore
      if (byStore > limit + lost)
        phases.complainOfCalm('answer', `${client}: ${byStore} granted by the store, ${limit} + ${lost}`)
      const unanswered = standIns === 0 ? 0 : grantedInFault
      const bound = mostAdmitted({ limit, then: 'local', processes: standIns, lost, unanswered })
      const all = byStore + grantedInFault
      if (all > bound) phases.complainOfCalm('answer', `${client}: ${all} granted, bound ${bound}`)
      const isAllCounted = standIns === 0 && forgets === 0
      await this.#compare(client, granted + (isAllCounted ? grantedInFault : 0), granted + doubtful)
    }
  }

  /**
   * Checks that the count in the store lies between the certain grants and the possible ones.
   * @param {string} client
   * @param {number} least
   * @param {number} most
   */
  async #compare(client, least, most) {
    const { soak, random } = this
    const query = new URLSearchParams({ client_id: client, route: '/fault' })
    const { answer, isCalm } = await soak.ask(soak.fleet.pick(random), 'GET', `/v1/usage?${query}`)
    const used = answer.body?.data?.rules?.[0].used
    if (!isCalm || (used >= least && used <= most)) return
    const text = `${client} on ${answer.asker.name}: ${used} counted, between ${least} and ${most} granted`
    soak.phases.complainOfCalm('answer', text)
  }

  /** @param {FaultKey} key */
  async #hit(key) {
    if (key.underWay >= MOST_UNDER_WAY || this.soak.isOver) return
    const { soak, random } = this
    const endpoint = random.pick(ENDPOINTS)
    const { era } = key
    key.underWay += 1
    const { decided, isCalm } = await soak.decide(random, endpoint, { client: key.client, route: '/fault', costs: [1] })
    key.underWay -= 1
    const isGranted = decided?.[0].allowed ?? false
    if (!isCalm) {
      // A request from before the loss may be in either count.
      if (era === key.era) key.doubtful += 1
      if (isGranted) key.grantedInFault += 1
    } else if (isGranted) {
      key.granted += 1
    } else if (key.granted + key.doubtful + key.underWay < key.limit) {
      const text = `${key.client}: denied after ${key.granted} of ${key.limit}, ${key.doubtful} in doubt`
      soak.phases.complainOfCalm('answer', text)
    }
  }
}
