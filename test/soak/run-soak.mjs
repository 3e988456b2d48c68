// Runs one soak: starts servers and traffic, then alternates calms and faults according to the schedule.

import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom } from '../../packages/sluice/dist/testing/random.js'
import { FaultKeys } from './fault-keys.mjs'
import { FAULTS } from './faults.mjs'
import { startFleet } from './fleet.mjs'
import { Flood } from './flood.mjs'
import { walkInLayers } from './layered-walkers.mjs'
import { MemoryWatch } from './memory.mjs'
import { Phases } from './phases.mjs'
import { Records } from './records.mjs'
import { recovered } from './recovery.mjs'
import { makeSchedule } from './schedule.mjs'
import { callsWithoutStore, watchMemory } from './server-metrics.mjs'
import { Soak } from './soak-context.mjs'
import { Starvation } from './starvation.mjs'
import { STORES } from './stores.mjs'
import { walk } from './walkers.mjs'

/** @import { FaultName, Planned } from './schedule.mjs' */

const WALKERS = 16
const LAYERED_WALKERS = 6

/** Time of traffic on fault keys after the recovery, before they are judged. */
const AFTER_RECOVERY_MS = 1000

/** Starved time is computed only for requests that took this long. */
const SLOW_MS = 100

/** Progress listener, called twice a second. @typedef {(soak: Soak, at: { fault: number, faults: number }) => void} OnProgress */

/**
 * @param {{ minutes: number, seed: number, store: string, faults: readonly FaultName[], onProgress: OnProgress, signal: AbortSignal }} options
 */
export async function runSoak({ minutes, seed, store, faults, onProgress, signal }) {
  const schedule = makeSchedule(randomFrom(seed)('schedule'), minutes, faults)
  const fleet = await startFleet(await STORES[store]())
  const starvation = new Starvation(() => [...fleet.store.pids(), ...fleet.instances.map(({ pid }) => pid)])
  const soak = new Soak(fleet, new Phases(), (tookMs) => (tookMs < SLOW_MS ? 0 : starvation.stolenOfLast(tookMs)))
  const soakRun = new SoakRun(soak, starvation, randomFrom(seed))
  const memory = new MemoryWatch(fleet)
  const stopWatching = watchMemory(soak, memory)
  const progress = setInterval(() => onProgress(soak, { fault: soakRun.faultCount, faults: schedule.length }), 500)
  const startMs = performance.now()
  try {
    await soakRun.run(schedule, minutes * 60_000, signal)
  } catch (error) {
    soak.phases.complain('answer', `the soak could not go on: ${error}`)
  } finally {
    soak.isOver = true
    soakRun.flood.stop()
    clearInterval(progress)
    stopWatching()
    memory.stop()
    starvation.stop()
    await fleet.stop()
  }
  return { soak, memory, soakRun, tookMs: performance.now() - startMs }
}

/** Alternates calms and faults. */
class SoakRun {
  /** Number of faults so far, in all and by name. */
  faultCount = 0
  /** @type {Map<string, number>} */
  faultsByName = new Map()
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
    await this.#beginCalm('at the start')
    this.#startTraffic()
    const random = this.randomFor('fault keys')
    for (const planned of schedule) {
      // A slow machine gets fewer faults, but each kind at least once.
      if (soak.phases.elapsedMs > wholeMs && this.faultsByName.size === kinds) break
      const fault = FAULTS[planned.name]
      const faultKeys = new FaultKeys(soak, random)
      faultKeys.start()
      await faultKeys.spendOnIdleKeys()
      await pause(planned.calmMs, undefined, { signal })
      await this.#endCalm(planned.name)
      await fault.inject({ soak, faultKeys, records }, planned)
      this.faultCount += 1
      this.faultsByName.set(planned.name, (this.faultsByName.get(planned.name) ?? 0) + 1)
      await this.#beginCalm(`after ${planned.name} ${this.faultCount}`)
      await pause(AFTER_RECOVERY_MS, undefined, { signal })
      await faultKeys.checkIdleKeys(fault)
      await faultKeys.finish(fault)
    }
    soak.isOver = true
    this.flood.stop()
    await Promise.all(this.#traffic)
    await records.verify('at the end')
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
      ...Array.from({ length: LAYERED_WALKERS }, (_, i) => walkInLayers(soak, this.randomFor(`layered walker ${i}`))),
    ]
  }

  /** Waits until both instances use the store, begins a calm and verifies all records. @param {string} when */
  async #beginCalm(when) {
    const { soak } = this
    this.worstRecoveryMs = Math.max(this.worstRecoveryMs, await recovered(soak))
    for (const { name, asker } of soak.fleet.instances) {
      this.#withoutStore.set(name, (await callsWithoutStore(soak, asker)) ?? 0)
    }
    this.#calmSinceMs = performance.now()
    soak.phases.beginCalm()
    await this.records.verify(when)
  }

  /** @param {string} fault the fault that follows */
  async #endCalm(fault) {
    const { soak } = this
    let withoutStore = 0
    for (const { name, asker } of soak.fleet.instances) {
      const count = (await callsWithoutStore(soak, asker)) ?? 0
      withoutStore += count - (this.#withoutStore.get(name) ?? 0)
    }
    soak.phases.endCalm(fault, { withoutStore, isStarved: this.starvation.isStarvedSince(this.#calmSinceMs) })
  }
}

/**
 * Each purpose has its own random numbers, so that traffic does not change the schedule.
 * @param {number} seed
 */
function randomFrom(seed) {
  return (/** @type {string} */ purpose) => {
    let mixed = seed
    for (const letter of purpose) mixed = (Math.imul(mixed, 31) + letter.charCodeAt(0)) | 0
    return seededRandom(mixed)
  }
}
