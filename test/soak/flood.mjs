// A flood of new clients and routes. The first check of each passes with one unit used, in calms and in faults, because no
// store has a count for it yet.

import { batch } from './endpoints.mjs'
import { FLOODED, FLOODED_REMAIN } from './policies.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Soak } from './soak-context.mjs' */

const EVERY_MS = 50
const MOST_AT_ONCE = 24

/** Largest number of open batches. It bounds the load on a slow service. */
const MOST_UNDER_WAY = 8

export class Flood {
  #underWay = 0
  /** @type {NodeJS.Timeout | undefined} */
  #timer

  /**
   * @param {Soak} soak
   * @param {Random} random
   */
  constructor(soak, random) {
    this.soak = soak
    this.random = random
  }

  start() {
    this.#timer = setInterval(() => {
      if (this.#underWay < MOST_UNDER_WAY) this.#send()
    }, EVERY_MS)
  }

  stop() {
    clearInterval(this.#timer)
  }

  async #send() {
    const { soak, random } = this
    const { name } = random.pick(FLOODED)
    const checks = Array.from({ length: random.whole(1, MOST_AT_ONCE) }, () => this.#newPair(name))
    /** @type {import('./endpoints.mjs').Endpoint} */
    const endpoint = { ...batch, ask: (asker, key) => asker.ask('POST', '/v1/check/batch', { key, body: { checks } }) }
    this.#underWay += 1
    const { decided, answer } = await soak.decide(random, endpoint, { client: name, route: '', costs: [] })
    this.#underWay -= 1
    for (const [i, { allowed, remain }] of (decided ?? []).entries()) {
      if (allowed && remain === FLOODED_REMAIN) continue
      const said = `${allowed ? 'allowed' : 'denied'} with ${remain} left`
      soak.phases.complain('answer', `new client ${checks[i].client_id} on ${answer.asker.name}: ${said}`)
    }
  }

  /** @param {string} name */
  #newPair(name) {
    const number = this.soak.nextNumber()
    return { client_id: `${name}-${number}`, route: `/flood/${number}` }
  }
}
