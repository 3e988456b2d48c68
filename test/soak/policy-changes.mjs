// Policies that change all the time. One writer for each policy, so that its last acknowledged form is known.

import { setTimeout as pause } from 'node:timers/promises'
import { EVERY_POLICY } from './policies.mjs'
import { explain } from './soak-context.mjs'
import { spreads, untilNone } from './spread.mjs'
import { Turns } from './turns.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Asker } from './asker.mjs' */
/** @import { Soak } from './soak-context.mjs' */

const POLICIES = 12
const EVERY_MS = 250

/** The limit that tells the form of a policy; undefined if it is deleted. @typedef {number | undefined} Form */

class Ledger {
  /** The acknowledged form, and those that were sent since without an answer that settles it. @type {Form[]} */
  possible = [undefined]
  /** The form before, until the last change has reached both instances. @type {Form[]} */
  before = []
  /** The form on each instance, at the last roll call. @type {Form[]} */
  seen = []

  /** @param {number} i */
  constructor(i) {
    this.name = `tenant-${i}`
  }

  /** True if its form is known and has reached both instances. */
  get isEverywhere() {
    return this.possible.length === 1 && this.before.length === 0
  }

  /** Both instances have said which of the possible forms it has. */
  settle() {
    this.possible = this.seen.slice(0, 1)
    this.before = []
  }
}

export class PolicyChanges {
  #ledgers = Array.from({ length: POLICIES }, (_, i) => new Ledger(i))
  #nextLimit = 1000
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

  /** Changes one policy after the other until the soak is over. */
  async run() {
    while (!this.soak.isOver) {
      await this.turns.take(() => this.#change(this.random.pick(this.#ledgers)))
      await pause(EVERY_MS)
    }
  }

  /** @param {Ledger} ledger */
  async #change(ledger) {
    const { soak, random } = this
    const asker = soak.fleet.pick(random)
    // An instance that has not heard of a policy cannot delete it.
    const isDeletion = ledger.isEverywhere && ledger.possible[0] !== undefined && random.whole(1, 6) === 1
    const form = isDeletion ? undefined : this.#nextLimit++
    const path = `/v1/policies/${ledger.name}`
    const { answer, isCalm } = await (form === undefined
      ? soak.ask(asker, 'DELETE', path)
      : soak.ask(asker, 'PUT', path, { client: ledger.name, scope: 'policy', rules: [ruleOf(form)] }))
    if (answer.status !== 200 && answer.status !== 201) {
      ledger.possible.push(form)
      if (isCalm) soak.weather.complainOfCalm('answer', `${ledger.name} could not be changed: ${explain(answer)}`)
      return
    }
    soak.acknowledged += 1
    ledger.before = ledger.possible
    ledger.possible = [form]
    const change = `${ledger.name} with ${form}`
    const isEverywhere = await spreads(soak, change, asker, async (on) => (await this.#formOn(on, ledger)) === form)
    if (isEverywhere) ledger.before = []
  }

  /**
   * The form that decides on one instance; null if that instance does not say.
   * @param {Asker} asker
   * @param {Ledger} ledger
   */
  async #formOn(asker, { name }) {
    const { answer } = await this.soak.ask(asker, 'GET', `/v1/usage?${new URLSearchParams({ client_id: name, route: '/any' })}`)
    if (answer.status !== 200) return null
    const { policy, rules } = answer.body.data
    return policy === name ? rules[0].limit : undefined
  }

  /**
   * @param {string} when
   * @param {boolean} isCutOff
   */
  rollCall(when, isCutOff) {
    return this.turns.take(async () => {
      const { weather } = this.soak
      const first = await this.#missing(isCutOff)
      // A change that had reached both instances is there at once, any other has to come.
      const later = async () => (await this.#missing(isCutOff)).filter(({ isEverywhere }) => !isEverywhere)
      const missing = [...first.filter(({ isEverywhere }) => isEverywhere), ...(await untilNone(later))]
      for (const { text } of missing) weather.complain('change', `${text} ${when}`)
      if (weather.isCalm) for (const ledger of this.#ledgers) ledger.settle()
    })
  }

  /**
   * Changes that an instance should know and does not.
   * @param {boolean} isCutOff
   */
  async #missing(isCutOff) {
    /** @type {{ text: string, isEverywhere: boolean }[]} */
    const missing = []
    for (const ledger of this.#ledgers) ledger.seen = []
    for (const { asker } of this.soak.fleet.instances) {
      const there = await this.#policiesOn(asker)
      for (const { name } of EVERY_POLICY) {
        if (!there.has(name)) missing.push({ text: `policy ${name} is gone on ${asker.name}`, isEverywhere: true })
      }
      for (const ledger of this.#ledgers) {
        const form = there.get(ledger.name)
        const expected = isCutOff ? [...ledger.possible, ...ledger.before] : ledger.possible
        ledger.seen.push(form)
        // After a change without an answer both forms are right, but not one here and the other there.
        if (expected.includes(form) && (isCutOff || form === ledger.seen[0])) continue
        const text = `policy ${ledger.name} has ${form} on ${asker.name}, acknowledged was ${expected.join(' or ')}`
        missing.push({ text, isEverywhere: ledger.isEverywhere })
      }
    }
    return missing
  }

  /**
   * The form of every policy on one instance.
   * @param {Asker} asker
   * @returns {Promise<Map<string, Form>>}
   */
  async #policiesOn(asker) {
    const { answer } = await this.soak.ask(asker, 'GET', '/v1/policies?limit=1000')
    if (answer.status !== 200) return new Map()
    return new Map(answer.body.data.policies.map((/** @type {any} */ { name, rules }) => [name, rules[0].limit]))
  }
}

/** @param {number} limit */
function ruleOf(limit) {
  return { algorithm: 'fixed-window', limit, window: '1h' }
}
