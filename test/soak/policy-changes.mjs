// Policies that change all the time. Each policy has one writer, so that its last acknowledged version is known.

import { setTimeout as pause } from 'node:timers/promises'
import { EVERY_POLICY, LAYERS } from './policies.mjs'
import { SerialQueue } from './serial-queue.mjs'
import { explain } from './soak-context.mjs'
import { spreads, untilNone } from './spread.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Asker } from './asker.mjs' */
/** @import { Soak } from './soak-context.mjs' */

const POLICIES = 12
const EVERY_MS = 250

/** The limit that identifies a version of a policy. Undefined if the policy is deleted. @typedef {number | undefined} Version */

class ExpectedPolicy {
  /** The acknowledged version, and later ones that were sent without a certain answer. @type {Version[]} */
  possible = [undefined]
  /** The previous version, until the last change has reached both instances. @type {Version[]} */
  before = []
  /** The version on each instance at the last verification. @type {Version[]} */
  seen = []

  /** @param {number} i */
  constructor(i) {
    this.name = `tenant-${i}`
  }

  /** True if the version is known and has reached both instances. */
  get isEverywhere() {
    return this.possible.length === 1 && this.before.length === 0
  }

  /** Called after both instances reported the same possible version. */
  settle() {
    this.possible = this.seen.slice(0, 1)
    this.before = []
  }
}

export class PolicyChanges {
  #policies = Array.from({ length: POLICIES }, (_, i) => new ExpectedPolicy(i))
  #nextLimit = 1000
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

  /** Changes one policy after the other until the soak is over. */
  async run() {
    while (!this.soak.isOver) {
      await this.queue.run(() => this.#change(this.random.pick(this.#policies)))
      await pause(EVERY_MS)
    }
  }

  /** @param {ExpectedPolicy} policy */
  async #change(policy) {
    const { soak, random } = this
    const asker = soak.fleet.pick(random)
    // An instance that does not know a policy yet cannot delete it.
    const isDeletion = policy.isEverywhere && policy.possible[0] !== undefined && random.whole(1, 6) === 1
    const version = isDeletion ? undefined : this.#nextLimit++
    const path = `/v1/policies/${policy.name}`
    const { answer, isCalm } = await (version === undefined
      ? soak.ask(asker, 'DELETE', path)
      : soak.ask(asker, 'PUT', path, { client: policy.name, scope: 'policy', rules: [ruleOf(version)] }))
    if (answer.status !== 200 && answer.status !== 201) {
      policy.possible.push(version)
      if (isCalm) soak.phases.complainOfCalm('answer', `${policy.name} could not be changed: ${explain(answer)}`)
      return
    }
    soak.acknowledged += 1
    policy.before = policy.possible
    policy.possible = [version]
    const change = `${policy.name} with ${version}`
    const isEverywhere = await spreads(soak, change, asker, async (on) => (await this.#versionOn(on, policy)) === version)
    if (isEverywhere) policy.before = []
  }

  /**
   * The version that decides on one instance. Null if the instance does not answer.
   * @param {Asker} asker
   * @param {ExpectedPolicy} policy
   */
  async #versionOn(asker, { name }) {
    const { answer } = await this.soak.ask(asker, 'GET', `/v1/usage?${new URLSearchParams({ client_id: name, route: '/any' })}`)
    if (answer.status !== 200) return null
    const { policy, rules } = answer.body.data
    return policy === name ? rules[0].limit : undefined
  }

  /**
   * @param {string} when
   * @param {boolean} isCutOff
   */
  verify(when, isCutOff) {
    return this.queue.run(async () => {
      const { phases } = this.soak
      const first = await this.#missing(isCutOff)
      // A change that had reached both instances must be there at once. Any other may take the time of a spread.
      const later = async () => (await this.#missing(isCutOff)).filter(({ isEverywhere }) => !isEverywhere)
      const missing = [...first.filter(({ isEverywhere }) => isEverywhere), ...(await untilNone(later))]
      for (const { text } of missing) phases.complain('change', `${text} ${when}`)
      if (phases.isCalm) for (const policy of this.#policies) policy.settle()
    })
  }

  /**
   * Changes that an instance should know and does not.
   * @param {boolean} isCutOff
   */
  async #missing(isCutOff) {
    /** @type {{ text: string, isEverywhere: boolean }[]} */
    const missing = []
    for (const policy of this.#policies) policy.seen = []
    for (const { asker } of this.soak.fleet.instances) {
      const there = await this.#policiesOn(asker)
      for (const { name } of [...EVERY_POLICY, ...LAYERS]) {
        if (!there.has(name)) missing.push({ text: `policy ${name} is gone on ${asker.name}`, isEverywhere: true })
      }
      for (const policy of this.#policies) {
        const version = there.get(policy.name)
        const expected = isCutOff ? [...policy.possible, ...policy.before] : policy.possible
        policy.seen.push(version)
        // After a change without an answer both versions are right, but both instances must have the same.
        if (expected.includes(version) && (isCutOff || version === policy.seen[0])) continue
        const text = `policy ${policy.name} has ${version} on ${asker.name}, acknowledged was ${expected.join(' or ')}`
        missing.push({ text, isEverywhere: policy.isEverywhere })
      }
    }
    return missing
  }

  /**
   * The version of every policy on one instance.
   * @param {Asker} asker
   * @returns {Promise<Map<string, Version>>}
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
