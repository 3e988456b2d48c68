// The parts of a soak share this: servers, weather, counts, and one way to ask that counts and times every request.

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Answer, Asker } from './asker.mjs' */
/** @import { Decided, Door, Check } from './doors.mjs' */
/** @import { Fleet } from './fleet.mjs' */
/** @import { Weather } from './weather.mjs' */

/** The longest of all times, as measured and without the time that the machine took. */
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
  /** Answers that a killed instance owed. */
  lostToKills = 0
  /** The slowest decisions, as measured and without the time that the machine took. */
  worstCalm = new Worst()
  worstFault = new Worst()
  acknowledged = 0
  /** The longest times until an acknowledged change was in force on the other instance, within a calm. */
  worstSpread = new Worst()
  isOver = false
  #numbers = 0

  /**
   * @param {Fleet} fleet
   * @param {Weather} weather
   * @param {(tookMs: number) => number} stolenMs of the last so many milliseconds, the time that the machine took
   */
  constructor(fleet, weather, stolenMs) {
    this.fleet = fleet
    this.weather = weather
    this.stolenMs = stolenMs
  }

  /**
   * Asks for a decision. Every decision is answered, in calms and in faults, except by a process that was killed.
   * @param {Random} random chooses the instance
   * @param {Door} door
   * @param {Check} check
   * @param {string} [key]
   * @returns {Promise<{ answer: Answer, decided: Decided[] | undefined, isCalm: boolean }>} `isCalm` if all of it was in one calm
   */
  async decide(random, door, check, key = this.fleet.adminKey) {
    const asker = this.fleet.pick(random)
    const { weather } = this
    const mark = weather.mark()
    this.requests += 1
    const answer = await door.ask(asker, key, check)
    const isCalm = weather.isSameCalm(mark)
    const decided = door.read(answer)
    const worst = isCalm ? this.worstCalm : this.worstFault
    worst.note(answer.tookMs, answer.tookMs - this.stolenMs(answer.tookMs))
    if (decided !== undefined) {
      this.checks += decided.length
    } else if (asker.isKilled) {
      this.lostToKills += 1
    } else {
      weather.complain('answer', `${door.name} of ${check.client} on ${asker.name}: ${explain(answer)}`)
    }
    return { answer, decided, isCalm }
  }

  /**
   * Asks for anything else, with the admin key.
   * @param {Asker} asker
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {string} [key]
   */
  async ask(asker, method, path, body, key = this.fleet.adminKey) {
    const mark = this.weather.mark()
    this.requests += 1
    const answer = await asker.ask(method, path, body === undefined ? { key } : { key, body })
    return { answer, isCalm: this.weather.isSameCalm(mark) }
  }

  /** A number that was not given before: part of the name of a new client. */
  nextNumber() {
    this.#numbers += 1
    return this.#numbers
  }

  /** The other instances. @param {Asker} asker */
  others(asker) {
    return this.fleet.instances.filter(({ name }) => name !== asker.name).map((instance) => instance.asker)
  }
}

/** @param {Answer} answer */
export function explain({ status, error, body }) {
  return status === 0 ? error : `${status} ${JSON.stringify(body?.meta ?? body).slice(0, 200)}`
}
