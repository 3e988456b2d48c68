// Keys that are asked for by many at once before, during and after one fault, and keys that rest meanwhile. The first are
// held to the bounds of the guide, the second to their exact count.

import { mostAdmitted, mostLost } from '../faults/bounds.mjs'
import { until } from '../servers/redis-server.mjs'
import { DOORS } from './doors.mjs'
import { FREE_LIMIT, HOT_LIMIT, RESTED } from './policies.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Soak } from './soak-context.mjs' */
/** @import { Fault } from './strikes.mjs' */

/** `hot` is at its limit before most faults come, `warm` while they last, `free` never. */
const KINDS = [
  { name: 'hot', policy: 'hot', limit: HOT_LIMIT, everyMs: 12 },
  { name: 'warm', policy: 'hot', limit: HOT_LIMIT, everyMs: 50 },
  { name: 'free', policy: 'free', limit: FREE_LIMIT, everyMs: 25 },
]

const MOST_UNDER_WAY = 40
const RESTING = 9

/** One key under fire. */
class StruckKey {
  /** Granted within calms, so by the store; since it last forgot everything, and before that. */
  granted = 0
  grantedBefore = 0
  /** Granted during the fault, by the store or without it. */
  grantedInFault = 0
  /** Sent and not answered by the store for certain: it may have counted these, and may still. */
  doubtful = 0
  underWay = 0
  /** The store emptied itself so many times. */
  forgets = 0
  /** Number of the count that a request belongs to. */
  era = 0

  /**
   * @param {string} client
   * @param {number} limit
   */
  constructor(client, limit) {
    this.client = client
    this.limit = limit
  }

  /** The store has lost its count. Requests under way may be counted in the new one. */
  forget() {
    this.grantedBefore += this.granted
    this.granted = 0
    this.doubtful = this.underWay
    this.forgets += 1
    this.era += 1
  }
}

export class StruckKeys {
  /** @type {NodeJS.Timeout[]} */
  #timers = []
  /** @type {{ client: string, used: number }[]} */
  #resting = []

  /**
   * @param {Soak} soak
   * @param {Random} random
   */
  constructor(soak, random) {
    this.soak = soak
    this.random = random
    this.disturbedBefore = soak.weather.disturbed
    this.number = soak.nextNumber()
    this.keys = KINDS.map(({ name, policy, limit }) => new StruckKey(`${policy}-${name}-${this.number}`, limit))
  }

  /** True if the machine disturbed the calm before the fault: some answers of the store are not from the store then. */
  get #isDisturbed() {
    return this.soak.weather.disturbed !== this.disturbedBefore
  }

  start() {
    this.#timers = KINDS.map(({ everyMs }, i) => setInterval(() => this.#hit(this.keys[i]), everyMs).unref())
  }

  /** Spends on keys that nobody touches until the fault is over. */
  async layToRest() {
    const { soak, random } = this
    for (let i = 0; i < RESTING; i++) {
      const { name } = RESTED[i % RESTED.length]
      const [client, used] = [`${name}-${this.number}-${i}`, random.whole(1, 100)]
      const { decided, isCalm } = await soak.decide(random, DOORS[0], { client, route: '/rest', costs: [used] })
      if (decided?.[0].allowed && isCalm) this.#resting.push({ client, used })
    }
  }

  /** Counts from before a fault are the same after it, unless the store lost them. @param {Fault} fault */
  async wake({ forgets }) {
    const { soak, random } = this
    if (this.#isDisturbed) return
    for (const { client, used } of this.#resting) {
      const query = new URLSearchParams({ client_id: client, route: '/rest' })
      const { answer, isCalm } = await soak.ask(soak.fleet.pick(random), 'GET', `/v1/usage?${query}`)
      if (!isCalm) return
      const counted = answer.body?.data?.rules?.[0].used
      const expected = forgets > 0 ? 0 : used
      if (counted !== expected) {
        const text = `${client} on ${answer.asker.name}: ${counted} used after the fault, expected ${expected}`
        soak.weather.complainOfCalm('answer', text)
      }
    }
  }

  /** The store loses its counts now. */
  forget() {
    for (const key of this.keys) key.forget()
  }

  /** Ends the traffic and holds each key to its bounds. @param {Fault} fault */
  async finish({ standIns }) {
    for (const timer of this.#timers) clearInterval(timer)
    const { weather } = this.soak
    if (this.#isDisturbed) return
    await until('requests to be answered', async () => this.keys.every(({ underWay }) => underWay === 0))
    for (const key of this.keys) {
      const { client, limit, forgets, granted, grantedBefore, grantedInFault, doubtful } = key
      const lost = mostLost(limit, forgets)
      const byStore = granted + grantedBefore
      if (byStore > limit + lost)
        weather.complainOfCalm('answer', `${client}: ${byStore} granted by the store, ${limit} + ${lost}`)
      const unanswered = standIns === 0 ? 0 : grantedInFault
      const bound = mostAdmitted({ limit, then: 'local', processes: standIns, lost, unanswered })
      const all = byStore + grantedInFault
      if (all > bound) weather.complainOfCalm('answer', `${client}: ${all} granted, bound ${bound}`)
      const isAllCounted = standIns === 0 && forgets === 0
      await this.#compare(client, granted + (isAllCounted ? grantedInFault : 0), granted + doubtful)
    }
  }

  /**
   * The count in the store is what it granted, and what it may have counted without an answer.
   * @param {string} client
   * @param {number} least
   * @param {number} most
   */
  async #compare(client, least, most) {
    const { soak, random } = this
    const query = new URLSearchParams({ client_id: client, route: '/struck' })
    const { answer, isCalm } = await soak.ask(soak.fleet.pick(random), 'GET', `/v1/usage?${query}`)
    const used = answer.body?.data?.rules?.[0].used
    if (!isCalm || (used >= least && used <= most)) return
    const text = `${client} on ${answer.asker.name}: ${used} counted, between ${least} and ${most} granted`
    soak.weather.complainOfCalm('answer', text)
  }

  /** @param {StruckKey} key */
  async #hit(key) {
    if (key.underWay >= MOST_UNDER_WAY || this.soak.isOver) return
    const { soak, random } = this
    const door = random.pick(DOORS)
    const { era } = key
    key.underWay += 1
    const { decided, isCalm } = await soak.decide(random, door, { client: key.client, route: '/struck', costs: [1] })
    key.underWay -= 1
    const isGranted = decided?.[0].allowed ?? false
    if (!isCalm) {
      // A request of before the store forgot belongs to both counts.
      if (era === key.era) key.doubtful += 1
      if (isGranted) key.grantedInFault += 1
    } else if (isGranted) {
      key.granted += 1
    } else if (key.granted + key.doubtful + key.underWay < key.limit) {
      const text = `${key.client}: denied after ${key.granted} of ${key.limit}, ${key.doubtful} in doubt`
      soak.weather.complainOfCalm('answer', text)
    }
  }
}
