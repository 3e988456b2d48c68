// Values that the servers report: calls without the store, memory in use, readiness.

/** @import { Asker } from './asker.mjs' */
/** @import { MemoryWatch } from './memory.mjs' */
/** @import { Soak } from './soak-context.mjs' */

const EVERY_MS = 1000

/**
 * Calls that an instance answered without the store since it started. Undefined if the instance does not answer.
 * @param {Soak} soak
 * @param {Asker} asker
 */
export async function callsWithoutStore(soak, asker) {
  const sums = await metrics(soak, asker)
  if (sums === undefined) return undefined
  return Math.max(sums.get('sluice_fallback_decisions_total') ?? 0, sums.get('sluice_store_errors_total') ?? 0)
}

/**
 * True if an instance is ready, its store answers and no records are lost.
 * @param {Soak} soak
 * @param {Asker} asker
 */
export async function isReady(soak, asker) {
  const { answer } = await soak.ask(asker, 'GET', '/readyz')
  return answer.status === 200 && answer.body.data.state === 'ready' && answer.body.data.records !== 'lost'
}

/**
 * Reads the memory use of every server until the soak is over. Returns a function that stops it.
 * @param {Soak} soak
 * @param {MemoryWatch} memory
 */
export function watchMemory(soak, memory) {
  const { fleet } = soak
  const timer = setInterval(async () => {
    // A server may not answer during a fault.
    if (!soak.phases.isCalm) return
    for (const { name, asker } of fleet.instances) {
      memory.addUsed(name, (await metrics(soak, asker))?.get('sluice_process_heap_bytes') ?? Number.NaN)
    }
    memory.addUsed('store', await fleet.store.dataBytes().catch(() => Number.NaN))
  }, EVERY_MS)
  return () => clearInterval(timer)
}

/**
 * Reads the metrics, summed over the labels of each.
 * @param {Soak} soak
 * @param {Asker} asker
 */
async function metrics(soak, asker) {
  const { answer } = await soak.ask(asker, 'GET', '/metrics')
  if (answer.status !== 200) return undefined
  /** @type {Map<string, number>} */
  const sums = new Map()
  for (const line of String(answer.body).split('\n')) {
    const [, name, value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? []
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value))
  }
  return sums
}
