// Clients that ask one call after the other through every door and either instance, each answer held against the exact model
// of its rule: not one unit more or less may pass.

import { setTimeout as pause } from 'node:timers/promises'
import { DOORS } from './doors.mjs'
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
 * Walks until the soak is over, with a new client every few seconds.
 * @param {Soak} soak
 * @param {Random} random
 */
export async function walk(soak, random) {
  while (!soak.isOver) {
    const { name, makeModel } = random.pick(WALKED)
    await new Walk(soak, random, `${name}-${soak.nextNumber()}`, makeModel()).run()
  }
}

/** The life of one client. */
class Walk {
  /** False once a fault came, or the model cannot say any more: then only the form of the answers is looked at. */
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
    this.mark = soak.weather.mark()
    this.#isJudged = soak.weather.isCalm
  }

  async run() {
    const { random, soak } = this
    for (let step = 0; step < MOST_STEPS && !soak.isOver; step++) {
      const dice = random.whole(1, 100)
      if (dice <= 88) await this.#check()
      else if (dice <= 93) await this.#look()
      else if (dice <= 98) await this.#giveBack()
      else await this.#forget()
      // A new client as soon as it can be judged again.
      if (!this.#isJudged && soak.weather.isCalm) return
      await pause(random.whole(0, LONGEST_PAUSE_MS))
    }
  }

  async #check() {
    const { random, client, route, model } = this
    const door = random.pick(DOORS)
    const costs = Array.from({ length: random.whole(1, door.most) }, () => (door.takesCost ? this.#cost() : 1))
    const { answer, decided } = await this.soak.decide(random, door, { client, route, costs })
    if (!this.#comesWith(answer, decided !== undefined) || decided === undefined) return
    if (decided.length !== costs.length) return this.#complain(`${door.name} of ${costs.length} has ${decided.length} answers`)
    for (const [i, cost] of costs.entries()) {
      const complaint = judge(model, cost, answer, decided[i])
      if (complaint !== undefined) return this.#complain(`${door.name} on ${answer.asker.name}: ${complaint}`)
    }
  }

  /** Mostly one unit; now and then more than there ever is. */
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
    if (answer.status !== 200 && this.soak.weather.isSameCalm(this.mark)) {
      this.#complain(`${method} ${path} on ${answer.asker.name}: ${explain(answer)}`)
    }
    return answer
  }

  /**
   * Moves the model to an answer; → false if the answer cannot be judged.
   * @param {Answer} answer
   * @param {boolean} isAnswered
   */
  #comesWith(answer, isAnswered) {
    this.#isJudged &&= isAnswered && this.soak.weather.isSameCalm(this.mark) && this.model.advance(answer)
    return this.#isJudged
  }

  /**
   * @param {string} door
   * @param {number} remain
   */
  #hold(door, remain) {
    const complaint = holdRemain(this.model, Math.max(0, remain))
    if (complaint !== undefined) this.#complain(`${door}: ${complaint}`)
  }

  /** @param {string} text */
  #complain(text) {
    this.#isJudged = false
    this.soak.weather.complainOfCalm('answer', `${this.client}: ${text}`)
  }
}
