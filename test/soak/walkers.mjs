// Clients that send one call after the other through every endpoint and either instance. Each answer is compared with the
// exact model of its rule, to the unit.

import { setTimeout as pause } from 'node:timers/promises'
import { ENDPOINTS } from './endpoints.mjs'
import { holdRemain, judge } from './models.mjs'
import { WALKED } from './policies.mjs'
import { explain } from './soak-context.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Answer } from './asker.mjs' */
/** @import { Model } from './models.mjs' */
/** @import { Soak } from './soak-context.mjs' */

const MOST_STEPS = 150
const LONGEST_PAUSE_MS = 50

/**
 * Runs walks until the soak is over, with a new client every few seconds.
 * @param {Soak} soak
 * @param {Random} random
 */
export async function walk(soak, random) {
  while (!soak.isOver) {
    const { name, makeModel } = random.pick(WALKED)
    await new Walk(soak, random, `${name}-${soak.nextNumber()}`, makeModel()).run()
  }
}

/** All calls of one client. */
class Walk {
  /** False after a fault, or after the model gave up. Then only the shape of the answers is checked. */
  #isJudged

  /**
   * @param {Soak} soak
   * @param {Random} random
   * @param {string} client
   * @param {Model} model
   */
  constructor(soak, random, client, model) {
    this.soak = soak
    this.random = random
    this.client = client
    this.route = `/walk/${random.whole(1, 1000)}`
    this.model = model
    this.mark = soak.phases.mark()
    this.#isJudged = soak.phases.isCalm
  }

  async run() {
    const { random, soak } = this
    for (let step = 0; step < MOST_STEPS && !soak.isOver; step++) {
      const dice = random.whole(1, 100)
      if (dice <= 88) await this.#check()
      else if (dice <= 93) await this.#look()
      else if (dice <= 98) await this.#giveBack()
      else await this.#forget()
      // Starts a new client as soon as answers can be judged again.
      if (!this.#isJudged && soak.phases.isCalm) return
      await pause(random.whole(0, LONGEST_PAUSE_MS))
    }
  }

  async #check() {
    const { random, client, route, model } = this
    const endpoint = random.pick(ENDPOINTS)
    const costs = Array.from({ length: random.whole(1, endpoint.most) }, () => (endpoint.takesCost ? this.#cost() : 1))
    const { answer, decided } = await this.soak.decide(random, endpoint, { client, route, costs })
    if (!this.#comesWith(answer, decided !== undefined) || decided === undefined) return
    if (decided.length !== costs.length)
      return this.#complain(`${endpoint.name} of ${costs.length} has ${decided.length} answers`)
    for (const [i, cost] of costs.entries()) {
      // The store may send the checks of one request as several commands (`leastOverlapped`), each with its own time.
      if (!this.#comesWith(answer, true)) return
      const complaint = judge(model, cost, answer, decided[i])
      if (complaint !== undefined) return this.#complain(`${endpoint.name} on ${answer.asker.name}: ${complaint}`)
    }
  }

  /** Usually a few units. Now and then more than the limit. */
  #cost() {
    return this.random.whole(1, 100) === 1 ? this.model.limit + 1 : this.random.pick([1, 1, 1, 1, 2, 3, 7])
  }

  async #look() {
    const query = new URLSearchParams({ client_id: this.client, route: this.route })
    const answer = await this.#ask('GET', `/v1/usage?${query}`)
    if (this.#comesWith(answer, answer.status === 200)) this.#hold('usage', answer.body.data.rules[0].remain)
  }

  async #giveBack() {
    const cost = this.random.whole(1, 5)
    const answer = await this.#ask('POST', '/v1/refund', { client_id: this.client, route: this.route, cost })
    if (!this.#comesWith(answer, answer.status === 200)) return
    this.model.refund(cost)
    this.#hold('refund', this.model.limit - answer.body.data.used)
  }

  async #forget() {
    const answer = await this.#ask('POST', '/v1/reset', { client_id: this.client, route: this.route })
    if (this.#comesWith(answer, answer.status === 200)) this.model.reset()
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async #ask(method, path, body) {
    const { answer } = await this.soak.ask(this.soak.fleet.pick(this.random), method, path, body)
    if (answer.status !== 200 && this.soak.phases.isSameCalm(this.mark)) {
      this.#complain(`${method} ${path} on ${answer.asker.name}: ${explain(answer)}`)
    }
    return answer
  }

  /**
   * Advances the model to an answer. Returns false if the answer cannot be judged.
   * @param {Answer} answer
   * @param {boolean} isAnswered
   */
  #comesWith(answer, isAnswered) {
    this.#isJudged &&= isAnswered && this.soak.phases.isSameCalm(this.mark) && this.model.advance(answer)
    return this.#isJudged
  }

  /**
   * @param {string} endpoint
   * @param {number} remain
   */
  #hold(endpoint, remain) {
    const complaint = holdRemain(this.model, Math.max(0, remain))
    if (complaint !== undefined) this.#complain(`${endpoint}: ${complaint}`)
  }

  /** @param {string} text */
  #complain(text) {
    this.#isJudged = false
    this.soak.phases.complainOfCalm('answer', `${this.client}: ${text}`)
  }
}
