// One fault from beginning to end: servers, subjects, traffic, the fault itself, recovery, and then every oracle.

import { setTimeout as pause } from 'node:timers/promises'
import { createLimiter } from 'sluice'
import { redisStore } from 'sluice/redis'
import { mostLost } from './bounds.mjs'
import {
  admitsNoMore,
  boundOf,
  countersTell,
  countsOnce,
  deniesNobodyWithoutReason,
  RECOVERS_WITHIN_MS,
  recoversSoon,
  settlesInTime,
} from './oracles.mjs'
import { StallWatch } from './stalls.mjs'
import { hourly, KEYS, Subject } from './subject.mjs'
import { Traffic } from './traffic.mjs'

/** @import { ClientName, Opened } from './clients.mjs' */
/** @import { Books, ExpectedCounts } from './oracles.mjs' */
/** @import { Plan } from './subject.mjs' */
/** @import { RedisServer } from '../servers/redis-server.mjs' */

/**
 * Where a fault takes place.
 * @typedef {object} Scene
 * @property {(name: ClientName) => Opened} open a client, as an application has it
 * @property {() => Opened} look a client that nothing is done to, to read the counts with
 * @property {() => readonly RedisServer[]} servers those that hold counts at the end
 * @property {() => Promise<unknown>} stop
 * @property {(subject: Subject, key: number) => number} [lost] how many granted units of a key were lost, where it is known
 */

/**
 * @template {Scene} [S=Scene]
 * @typedef {object} Fault
 * @property {string} name
 * @property {string} what what is done, in a few words
 * @property {readonly Plan[]} subjects
 * @property {() => Promise<S>} setTheScene
 * @property {(scene: S, subjects: readonly Subject[]) => Promise<void | string[]>} strike the fault, from its beginning to its
 * end; → what was wrong meanwhile
 * @property {ExpectedCounts} expects
 * @property {number} [timeoutMs] 200 unless said
 * @property {number} [perSecond] hits on each subject: 250 unless said
 * @property {number} [warmUpMs] traffic before the fault: 600 unless said
 * @property {number} [forgets] how often the store forgets everything
 */

/**
 * @typedef {object} Outcome
 * @property {string} fault
 * @property {string} subject
 * @property {number} hits
 * @property {number} allowed of the keys that can reach their limit
 * @property {number} bound of the same keys
 * @property {number} worstMs
 * @property {number} recoveryMs
 * @property {number} stalledMs the longest time in which this process was not given what it needed
 * @property {import('sluice').FailureCounts} failures
 * @property {readonly string[]} wrong
 */

/** The machine has to have kept the process from running for so long to be blamed for what went wrong. */
const BLAMED_FROM_MS = 40

/** How often a fault is tried if the machine stalled. */
const TRIES = 3

/** Without a fallback for so long: recovered. */
const CALM_MS = 400

/**
 * Hears what is being done; `isNews` if it is not what is done each time.
 * @typedef {(text: string, isNews?: boolean) => void} OnStep
 */

/**
 * Runs a fault.
 * @param {Fault<any>} fault
 * @param {OnStep} [onStep]
 */
export function runFault(fault, onStep = () => {}) {
  return againIfStalled(() => runOnce(fault, onStep), onStep)
}

/**
 * Runs something; again, if it went wrong and the machine had stalled.
 * @param {() => Promise<Outcome[]>} run
 * @param {OnStep} onStep
 */
export async function againIfStalled(run, onStep) {
  for (let attempt = 1; ; attempt++) {
    const outcomes = await run()
    const stalledMs = Math.max(...outcomes.map((outcome) => outcome.stalledMs))
    const wrong = outcomes.flatMap((outcome) => outcome.wrong)
    if (wrong.length === 0 || stalledMs < BLAMED_FROM_MS || attempt === TRIES) return outcomes
    onStep(`the machine stalled for ${Math.round(stalledMs)} ms, so once more: ${wrong[0]}`, true)
  }
}

/**
 * @param {Fault<any>} fault
 * @param {OnStep} onStep
 * @returns {Promise<Outcome[]>}
 */
async function runOnce(fault, onStep) {
  const { timeoutMs = 200, perSecond = 250, warmUpMs = 600 } = fault
  /** @type {string[]} */
  const escaped = []
  const onEscape = (/** @type {unknown} */ error) => void escaped.push(`escaped: ${error}`)
  onStep('setting the scene')
  const scene = await fault.setTheScene()
  process.on('unhandledRejection', onEscape)
  process.on('uncaughtException', onEscape)
  const stalls = new StallWatch()
  const subjects = fault.subjects.map((plan, i) => new Subject(plan, timeoutMs, `faults-${i}`, scene.open))
  const traffic = new Traffic(subjects, perSecond)
  try {
    await pause(CONNECTS_WITHIN_MS)
    traffic.start()
    onStep('traffic')
    await pause(warmUpMs)
    onStep(fault.what)
    const meanwhile = (await fault.strike(scene, subjects)) ?? []
    const liftedMs = performance.now()
    onStep('recovering')
    await calm(subjects, liftedMs)
    await traffic.stop()
    onStep('checking')
    // What was sent late may still be on its way.
    await pause(LATE_MS)
    const immortal = await immortalKeys(scene)
    const outcomes = []
    for (const subject of subjects) {
      const books = await readBooks(scene, subject, fault.forgets ?? 0)
      const recoveryMs = Math.max(0, subject.lastUnansweredMs - liftedMs)
      outcomes.push({
        fault: fault.name,
        subject: subject.name,
        hits: subject.hits,
        allowed: sumOfKeys((key) => subject.tally(key).store.allowed + subject.tally(key).fallback.allowed),
        bound: sumOfKeys((key) => boundOf(subject, key, books.lost[key])),
        worstMs: subject.worstMs,
        recoveryMs,
        stalledMs: stalls.worstMs,
        failures: subject.failures(),
        wrong: [
          ...escaped,
          ...meanwhile,
          ...immortal,
          ...settlesInTime(subject, stalls),
          ...admitsNoMore(subject, books),
          ...deniesNobodyWithoutReason(subject),
          ...countsOnce(subject, books),
          ...countersTell(subject, fault.expects),
          ...recoversSoon(recoveryMs),
        ],
      })
    }
    return outcomes
  } finally {
    stalls.stop()
    await traffic.stop()
    for (const subject of subjects) await subject.close()
    await scene.stop()
    process.off('unhandledRejection', onEscape)
    process.off('uncaughtException', onEscape)
  }
}

/** Clients on loopback take a few milliseconds to connect. */
const CONNECTS_WITHIN_MS = 150

const LATE_MS = 250

/**
 * Until nobody has been without the store for a while, but not much longer than recovery may take.
 * @param {readonly Subject[]} subjects
 * @param {number} liftedMs
 */
async function calm(subjects, liftedMs) {
  for (;;) {
    await pause(50)
    const nowMs = performance.now()
    const lastMs = Math.max(liftedMs, ...subjects.map((subject) => subject.lastUnansweredMs))
    if (nowMs - lastMs > CALM_MS || nowMs - liftedMs > RECOVERS_WITHIN_MS + CALM_MS) return
  }
}

/**
 * @param {Scene} scene
 * @param {Subject} subject
 * @param {number} forgets
 * @returns {Promise<Books>}
 */
async function readBooks(scene, subject, forgets) {
  const lost = KEYS.map(({ limit }, key) => scene.lost?.(subject, key) ?? mostLost(limit, forgets))
  return { counted: await unitsCounted(scene, subject), lost }
}

/**
 * How many units of each key the store has counted.
 * @param {Pick<Scene, 'look'>} scene
 * @param {Subject} subject
 */
export async function unitsCounted(scene, subject) {
  const opened = scene.look()
  const store = redisStore(opened.client, { prefix: subject.prefix })
  const failure = { timeoutMs: 5000 }
  opened.connect()
  try {
    return await Promise.all(KEYS.map(({ name, limit }) => createLimiter({ rules: hourly(limit), store, failure }).get(name)))
  } finally {
    opened.close()
  }
}

/**
 * Keys that would live for ever.
 * @param {Scene} scene
 */
async function immortalKeys(scene) {
  const wrong = []
  for (const server of scene.servers()) {
    const names = await server.cli('KEYS', 'faults-*')
    for (const name of names.split('\n').filter((line) => line !== '')) {
      if ((await server.cli('PTTL', name)) === '-1') wrong.push(`${name} has no expiry`)
    }
  }
  return wrong
}

/**
 * Over the keys that can reach their limit.
 * @param {(key: number) => number} number
 */
function sumOfKeys(number) {
  return KEYS.reduce((sum, { name }, key) => sum + (name === 'free' ? 0 : number(key)), 0)
}
