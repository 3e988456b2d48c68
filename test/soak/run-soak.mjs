// One soak from beginning to end: servers, traffic, and then calm and fault in turns, as the schedule says.

import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom } from '../../packages/sluice/dist/testing/random.js'
import { startFleet } from './fleet.mjs'
import { Flood } from './flood.mjs'
import { MemoryWatch } from './memory.mjs'
import { Records } from './records.mjs'
import { recovered } from './recovery.mjs'
import { makeSchedule } from './schedule.mjs'
import { Soak } from './soak-context.mjs'
import { Starvation } from './starvation.mjs'
import { FAULTS } from './strikes.mjs'
import { StruckKeys } from './struck-keys.mjs'
import { callsWithoutStore, watchMemory } from './vital-signs.mjs'
import { walk } from './walkers.mjs'
import { Weather } from './weather.mjs'

/** @import { FaultName, Planned } from './schedule.mjs' */

const WALKERS = 16

/** Struck keys are asked for so long after recovery before they are judged. */
const AFTER_RECOVERY_MS = 1000

/** Only slow requests are worth asking how much of their time the machine took. */
const SLOW_MS = 100

/** Progress, several times a second. @typedef {(soak: Soak, at: { fault: number, faults: number }) => void} OnProgress */

/**
 * @param {{ minutes: number, seed: number, faults: readonly FaultName[], onProgress: OnProgress, signal: AbortSignal }} options
 */
export async function runSoak({ minutes, seed, faults, onProgress, signal }) {
  const schedule = makeSchedule(randomFrom(seed)('schedule'), minutes, faults)
  const fleet = await startFleet()
  const starvation = new Starvation(() => [fleet.redis.process?.pid, ...fleet.instances.map(({ pid }) => pid)])
  const soak = new Soak(fleet, new Weather(), (tookMs) => (tookMs < SLOW_MS ? 0 : starvation.stolenOfLast(tookMs)))
  const course = new Course(soak, starvation, randomFrom(seed))
  const memory = new MemoryWatch(fleet)
  const stopWatching = watchMemory(soak, memory)
  const progress = setInterval(() => onProgress(soak, { fault: course.struck, faults: schedule.length }), 500)
  const startMs = performance.now()
  try {
    await course.run(schedule, minutes * 60_000, signal)
  } catch (error) {
    soak.weather.complain('answer', `the soak could not go on: ${error}`)
  } finally {
    soak.isOver = true
    course.flood.stop()
    clearInterval(progress)
    stopWatching()
    memory.stop()
    starvation.stop()
    await fleet.stop()
  }
  return { soak, memory, course, tookMs: performance.now() - startMs }
}

/** Calm and fault in turns. */
class Course {
  /** Faults so far, in all and by name. */
  struck = 0
  /** @type {Map<string, number>} */
  struckByName = new Map()
  worstRecoveryMs = 0
  /** Calls without the store of each instance when the calm began. @type {Map<string, number>} */
  #withoutStore = new Map()
  #calmSinceMs = 0
  /** @type {Promise<unknown>[]} */
  #traffic = []

  /**
   * @param {Soak} soak
   * @param {Starvation} starvation
   * @param {ReturnType<typeof randomFrom>} randomFor
   */
  constructor(soak, starvation, randomFor) {
    this.soak = soak
    this.starvation = starvation
    this.randomFor = randomFor
    this.records = new Records(soak, randomFor)
    this.flood = new Flood(soak, randomFor('flood'))
  }

  /**
   * @param {readonly Planned[]} schedule
   * @param {number} wholeMs
   * @param {AbortSignal} signal
   */
  async run(schedule, wholeMs, signal) {
    const { soak, records } = this
    const kinds = new Set(schedule.map(({ name }) => name)).size
    await records.makePolicies()
    await this.#clearUp('at the start')
    this.#startTraffic()
    const random = this.randomFor('struck keys')
    for (const planned of schedule) {
      // A slow machine gets fewer faults, but each of them once.
      if (soak.weather.elapsedMs > wholeMs && this.struckByName.size === kinds) break
      const fault = FAULTS[planned.name]
      const struck = new StruckKeys(soak, random)
      struck.start()
      await struck.layToRest()
      await pause(planned.calmMs, undefined, { signal })
      await this.#endCalm(planned.name)
      await fault.strike({ soak, struck, records }, planned)
      this.struck += 1
      this.struckByName.set(planned.name, (this.struckByName.get(planned.name) ?? 0) + 1)
      await this.#clearUp(`after ${planned.name} ${this.struck}`)
      await pause(AFTER_RECOVERY_MS, undefined, { signal })
      await struck.wake(fault)
      await struck.finish(fault)
    }
    soak.isOver = true
    this.flood.stop()
    await Promise.all(this.#traffic)
    await records.rollCall('at the end')
    await this.#endCalm('end')
  }

  #startTraffic() {
    const { soak, records, flood } = this
    flood.start()
    this.#traffic = [
      records.policies.run(),
      records.keys.run(),
      records.keys.use(),
      ...Array.from({ length: WALKERS }, (_, i) => walk(soak, this.randomFor(`walker ${i}`))),
    ]
  }

  /** Waits until both instances use the store, and begins a calm with a roll call. @param {string} when */
  async #clearUp(when) {
    const { soak } = this
    this.worstRecoveryMs = Math.max(this.worstRecoveryMs, await recovered(soak))
    for (const { name, asker } of soak.fleet.instances) {
      this.#withoutStore.set(name, (await callsWithoutStore(soak, asker)) ?? 0)
    }
    this.#calmSinceMs = performance.now()
    soak.weather.beginCalm()
    await this.records.rollCall(when)
  }

  /** @param {string} fault the one that follows */
  async #endCalm(fault) {
    const { soak } = this
    let withoutStore = 0
    for (const { name, asker } of soak.fleet.instances) {
      const count = (await callsWithoutStore(soak, asker)) ?? 0
      withoutStore += count - (this.#withoutStore.get(name) ?? 0)
    }
    soak.weather.endCalm(fault, { withoutStore, isStarved: this.starvation.isStarvedSince(this.#calmSinceMs) })
  }
}

/**
 * Each purpose has random numbers of its own, so that traffic does not change the schedule.
 * @param {number} seed
 */
function randomFrom(seed) {
  return (/** @type {string} */ purpose) => {
    let mixed = seed
    for (const letter of purpose) mixed = (Math.imul(mixed, 31) + letter.charCodeAt(0)) | 0
    return seededRandom(mixed)
  }
}
