// The shared parts of a soak: servers, phases, counts, and request functions that count and time every request.

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Answer, Asker } from './asker.mjs' */
/** @import { Decided, Endpoint, Check } from './endpoints.mjs' */
/** @import { Fleet } from './fleet.mjs' */
/** @import { Phases } from './phases.mjs' */

/** The longest time: as measured, and without the time that the machine took. */
export class Worst {
  measuredMs = 0
  ownMs = 0

  /**
   * @param {number} measuredMs
   * @param {number} ownMs
   */
  note(measuredMs, ownMs) {
    this.measuredMs = Math.max(this.measuredMs, measuredMs)
    this.ownMs = Math.max(this.ownMs, ownMs)
  }
}

export class Soak {
  requests = 0
  checks = 0
  /** Answers that a killed instance did not give. */
  lostToKills = 0
  /** The slowest decisions. */
  worstCalm = new Worst()
  worstFault = new Worst()
  acknowledged = 0
  /** The slowest spread of an acknowledged change to the other instance, within a calm. */
  worstSpread = new Worst()
  isOver = false
  #numbers = 0

  /**
   * @param {Fleet} fleet
   * @param {Phases} phases
   * @param {(tookMs: number) => number} stolenMs of the last so many milliseconds, the time that the machine took
   */
  constructor(fleet, phases, stolenMs) {
    this.fleet = fleet
    this.phases = phases
    this.stolenMs = stolenMs
  }

  /**
   * Requests a decision. Every request is answered, in calms and in faults, unless the process was killed.
   * @param {Random} random chooses the instance
   * @param {Endpoint} endpoint
   * @param {Check} check
   * @param {string} [key]
   * @returns {Promise<{ answer: Answer, decided: Decided[] | undefined, isCalm: boolean }>} `isCalm` if all of it was in one calm
   */
  async decide(random, endpoint, check, key = this.fleet.adminKey) {
    const asker = this.fleet.pick(random)
    const { phases } = this
    const mark = phases.mark()
    this.requests += 1
    const answer = await endpoint.ask(asker, key, check)
    const isCalm = phases.isSameCalm(mark)
    const decided = endpoint.read(answer)
    const worst = isCalm ? this.worstCalm : this.worstFault
    worst.note(answer.tookMs, answer.tookMs - this.stolenMs(answer.tookMs))
    if (decided !== undefined) {
      this.checks += decided.length
    } else if (asker.isKilled) {
      this.lostToKills += 1
    } else {
      phases.complain('answer', `${endpoint.name} of ${check.client} on ${asker.name}: ${explain(answer)}`)
    }
    return { answer, decided, isCalm }
  }

  /**
   * Sends any other request, with the admin key by default.
   * @param {Asker} asker
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {string} [key]
   */
  async ask(asker, method, path, body, key = this.fleet.adminKey) {
    const mark = this.phases.mark()
    this.requests += 1
    const answer = await asker.ask(method, path, body === undefined ? { key } : { key, body })
    return { answer, isCalm: this.phases.isSameCalm(mark) }
  }

  /** A unique number, for the name of a new client. */
  nextNumber() {
    this.#numbers += 1
    return this.#numbers
  }

  /** All instances except this one. @param {Asker} asker */
  others(asker) {
    return this.fleet.instances.filter(({ name }) => name !== asker.name).map((instance) => instance.asker)
  }
}

/** @param {Answer} answer */
export function explain({ status, error, body }) {
  return status === 0 ? error : `${status} ${JSON.stringify(body?.meta ?? body).slice(0, 200)}`
}
