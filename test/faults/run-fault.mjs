// Runs one fault: starts servers, targets and traffic, injects the fault, waits for recovery, and runs every assertion.

import { setTimeout as pause } from 'node:timers/promises'
import { createLimiter } from 'sluice'
import {
  admitsNoMore,
  boundOf,
  countersAddUp,
  countsOnce,
  deniesNobodyWithoutReason,
  RECOVERS_WITHIN_MS,
  recoversSoon,
  settlesInTime,
} from './assertions.mjs'
import { mostLost } from './bounds.mjs'
import { StallWatch } from './stalls.mjs'
import { hourly, KEYS, Target } from './target.mjs'
import { Traffic } from './traffic.mjs'

/** @import { ClientName, Opened } from './clients.mjs' */
/** @import { StoreCounts, ExpectedCounts } from './assertions.mjs' */
/** @import { TargetOptions } from './target.mjs' */
/** @import { ChildProcess } from 'node:child_process' */

/** A server, as far as every fault needs it. @typedef {{ process: ChildProcess | undefined }} Server */

/**
 * The servers of a fault, and access to them.
 * @typedef {object} Environment
 * @property {(name: ClientName) => Opened} open opens a client, as an application does
 * @property {() => Opened} openObserver opens a client that the fault does not affect, to read counts
 * @property {() => readonly Server[]} servers the servers that hold counts at the end
 * @property {() => Promise<string[]>} leftovers finds states that would stay for ever
 * @property {() => Promise<unknown>} stop
 * @property {(target: Target, key: number) => number} [lost] granted units of a key that were lost, if known
 */

/**
 * @template {Environment} [S=Environment]
 * @typedef {object} Fault
 * @property {string} name
 * @property {string} what short description
 * @property {readonly TargetOptions[]} targets
 * @property {() => Promise<S>} startEnvironment
 * @property {(environment: S, targets: readonly Target[]) => Promise<void | string[]>} inject runs the fault from its beginning
 * to its end; returns violations during it
 * @property {ExpectedCounts} expects
 * @property {number} [timeoutMs] default 200
 * @property {number} [perSecond] hits on each target, default 250
 * @property {number} [warmUpMs] traffic before the fault, default 600
 * @property {number} [forgets] number of times that the store loses everything
 */

/**
 * @typedef {object} Outcome
 * @property {string} fault
 * @property {string} target
 * @property {number} hits
 * @property {number} allowed on the keys that can reach their limit
 * @property {number} bound on the same keys
 * @property {number} worstMs
 * @property {number} recoveryMs
 * @property {number} stalledMs most time in a window for which the machine did not run this process or a server
 * @property {import('sluice').FailureCounts} failures
 * @property {readonly string[]} wrong
 */

/** Stalls of this time together, or longer, may explain a violation. */
const BLAMED_FROM_MS = 60

/** Largest number of runs of a fault on a machine that stalls. */
const TRIES = 3

/** The store counts as recovered after this time without a fallback. */
const CALM_MS = 400

/**
 * Listener for progress. `isUnusual` marks a step that does not happen in every run.
 * @typedef {(text: string, isUnusual?: boolean) => void} OnStep
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
 * Runs a fault, and repeats it if it failed while the machine stalled.
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
  onStep('starting servers')
  const environment = await fault.startEnvironment()
  process.on('unhandledRejection', onEscape)
  process.on('uncaughtException', onEscape)
  const pidsOf = (/** @type {readonly Server[]} */ servers) => servers.flatMap((server) => server.process?.pid ?? [])
  const stalls = new StallWatch(() => pidsOf(environment.servers()))
  const targets = fault.targets.map((options, i) => new Target(options, timeoutMs, `faults-${i}`, environment.open))
  const traffic = new Traffic(targets, perSecond)
  try {
    await pause(CONNECTS_WITHIN_MS)
    traffic.start()
    onStep('traffic')
    await pause(warmUpMs)
    onStep(fault.what)
    const duringFault = (await fault.inject(environment, targets)) ?? []
    const endedMs = performance.now()
    onStep('recovering')
    await waitForRecovery(targets, endedMs)
    await traffic.stop()
    onStep('checking')
    // Late commands may still be on their way.
    await pause(LATE_MS)
    const leftovers = await environment.leftovers()
    const outcomes = []
    for (const target of targets) {
      const storeCounts = await readStoreCounts(environment, target, fault.forgets ?? 0)
      const recoveryMs = Math.max(0, target.lastUnansweredMs - endedMs)
      outcomes.push({
        fault: fault.name,
        target: target.name,
        hits: target.hits,
        allowed: sumOfKeys((key) => target.countsOf(key).store.allowed + target.countsOf(key).fallback.allowed),
        bound: sumOfKeys((key) => boundOf(target, key, storeCounts.lost[key])),
        worstMs: target.worstMs,
        recoveryMs,
        stalledMs: stalls.worstMs,
        failures: target.failures(),
        wrong: [
          ...escaped,
          ...duringFault,
          ...leftovers,
          ...settlesInTime(target, stalls),
          ...admitsNoMore(target, storeCounts),
          ...deniesNobodyWithoutReason(target),
          ...countsOnce(target, storeCounts),
          ...countersAddUp(target, fault.expects),
          ...recoversSoon(recoveryMs),
        ],
      })
    }
    return outcomes
  } finally {
    stalls.stop()
    await traffic.stop()
    for (const target of targets) await target.close()
    await environment.stop()
    process.off('unhandledRejection', onEscape)
    process.off('uncaughtException', onEscape)
  }
}

/** Clients on loopback take a few milliseconds to connect. */
const CONNECTS_WITHIN_MS = 150

const LATE_MS = 250

/**
 * Waits until every hit has used the store for CALM_MS. Gives up shortly after the allowed recovery time.
 * @param {readonly Target[]} targets
 * @param {number} endedMs
 */
async function waitForRecovery(targets, endedMs) {
  for (;;) {
    await pause(50)
    const nowMs = performance.now()
    const lastMs = Math.max(endedMs, ...targets.map((target) => target.lastUnansweredMs))
    if (nowMs - lastMs > CALM_MS || nowMs - endedMs > RECOVERS_WITHIN_MS + CALM_MS) return
  }
}

/**
 * @param {Environment} environment
 * @param {Target} target
 * @param {number} forgets
 * @returns {Promise<StoreCounts>}
 */
async function readStoreCounts(environment, target, forgets) {
  const lost = KEYS.map(({ limit }, key) => environment.lost?.(target, key) ?? mostLost(limit, forgets))
  return { counted: await unitsCounted(environment, target), lost }
}

/**
 * Number of units of each key that the store has counted.
 * @param {Pick<Environment, 'openObserver'>} environment
 * @param {Target} target
 */
export async function unitsCounted(environment, target) {
  const opened = environment.openObserver()
  const store = opened.makeStore(target.prefix)
  const failure = { timeoutMs: 5000 }
  opened.connect()
  try {
    return await Promise.all(KEYS.map(({ name, limit }) => createLimiter({ rules: hourly(limit), store, failure }).get(name)))
  } finally {
    await store.close()
    opened.close()
  }
}

/**
 * Sums over the keys that can reach their limit.
 * @param {(key: number) => number} number
 */
function sumOfKeys(number) {
  return KEYS.reduce((sum, { name }, key) => sum + (name === 'free' ? 0 : number(key)), 0)
}
