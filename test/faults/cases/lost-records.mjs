// Redis loses policies and keys of the service while checks run. Two instances keep the records they know, refuse the revoked
// key, report the loss, and restore everything on one command.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../servers/redis-server.mjs'
import { SluiceService, startSluice } from '../../servers/sluice-service.mjs'
import { againIfStalled } from '../run-fault.mjs'
import { NO_FAILURES } from '../target.mjs'

/** @import { OnStep, Outcome } from '../run-fault.mjs' */
/** @import { RecordLoss } from '../record-losses.mjs' */

/** An instance reads the records twice a second. A failover takes longer, and this bound includes it. */
const NOTICES_WITHIN_MS = 15_000

/** Pause between two checks of one stream. */
const CHECK_EVERY_MS = 20

/** The deadline of a check is 100 ms. The rest allows for a busy machine. */
const WORST_CHECK_MS = 2000

/** Statuses for a refused key: 401, and 429 after many refusals. */
const REFUSALS = [401, 429]

/** @param {RecordLoss} loss */
export function lostRecords(loss) {
  return {
    name: loss.name,
    what: loss.what,
    run: (/** @type {OnStep} */ onStep = () => {}) => againIfStalled(async () => [await runOnce(loss, onStep)], onStep),
  }
}

/**
 * @param {RecordLoss} loss
 * @param {OnStep} onStep
 * @returns {Promise<Outcome>}
 */
async function runOnce(loss, onStep) {
  onStep('setting the environment')
  const environment = await loss.startEnvironment()
  /** @type {SluiceService[]} */
  const instances = []
  const startOne = async (key = '') => {
    const one = await startSluice({ args: ['--store', environment.store, '--log-level', 'info'] })
    instances.push(one)
    if (key !== '') writeFileSync(one.keyFile, key)
    return one
  }
  /** @type {Checks | undefined} */
  let checks
  try {
    const a = await startOne()
    const b = await startOne(a.key)
    const { shop, leaked } = await makeRecords(a)
    await environment.keep()
    await changeRecords(a, leaked.key.id)
    await until('both instances to know, and their copies', async () => [a, b].every(({ dataFolder }) => hasCopied(dataFolder)))
    checks = new Checks([a, b], shop.secret, leaked.secret)
    onStep(loss.what)
    await environment.lose()
    const lostMs = performance.now()
    await until(
      'the loss to be noticed',
      async () => (await recordsOf(a)) === 'lost' && (await recordsOf(b)) === 'lost',
      NOTICES_WITHIN_MS,
    )
    const noticedMs = performance.now() - lostMs
    const wrong = [...(await problemsWhileLost(a)), ...(await problemsWhileLost(b))]
    onStep('restarting one, with its copy')
    await checks.without(b, async () => {
      await b.kill()
      await b.start()
    })
    wrong.push(...(await problemsWhileLost(b)))
    onStep('restoring')
    wrong.push(...(await restoreFrom([a, b])))
    await until('the records to be back', async () => (await recordsOf(a)) === 'kept' && (await recordsOf(b)) === 'kept')
    const fresh = await startOne(a.key)
    for (const one of [a, b, fresh]) wrong.push(...(await problemsAfterRestore(one, shop, leaked)))
    wrong.push(...(await problemsOfAudit(fresh)))
    await checks.stop()
    const { sent, passedWithRevoked, worstMs } = checks
    return {
      fault: loss.name,
      target: 'service, 2 instances',
      hits: sent,
      allowed: passedWithRevoked,
      bound: 0,
      worstMs,
      recoveryMs: noticedMs,
      stalledMs: 0,
      failures: NO_FAILURES,
      wrong: [...wrong, ...checks.wrong],
    }
  } finally {
    await checks?.stop()
    for (const one of instances) await one.remove()
    await environment.stop()
  }
}

/** @param {SluiceService} a */
async function makeRecords(a) {
  await a.call('PUT', '/v1/policies/stays', { client: 'stays', rules: '7/hour' })
  await a.call('PUT', '/v1/policies/goes', { client: 'goes', rules: '7/hour' })
  const make = async (/** @type {string} */ name) => (await a.call('POST', '/v1/keys', { name, scopes: ['check'] })).body.data
  return { shop: await make('shop'), leaked: await make('leaked') }
}

/**
 * @param {SluiceService} a
 * @param {string} leaked id of the key to revoke
 */
async function changeRecords(a, leaked) {
  await a.call('DELETE', `/v1/keys/${leaked}`)
  await a.call('DELETE', '/v1/policies/goes')
  await a.call('PUT', '/v1/policies/late', { client: 'late', rules: '7/hour' })
}

/** @param {string} folder */
function hasCopied(folder) {
  return readFileSync(join(folder, 'redis-copy.jsonl'), 'utf8').includes('"late"')
}

/** @param {SluiceService} one */
async function recordsOf(one) {
  const { body } = await one.call('GET', '/readyz')
  return body.data.records
}

/**
 * Returns broken promises while records are lost.
 * @param {SluiceService} one
 */
async function problemsWhileLost(one) {
  const ready = await one.call('GET', '/readyz')
  const change = await one.call('PUT', '/v1/policies/new', { client: 'new', rules: '1/s' })
  const metrics = await one.call('GET', '/metrics')
  const promises = {
    'ready, and says that records are lost': ready.status === 200 && ready.body.data.records === 'lost',
    'refuses changes': change.body.meta.error === 'ERR_RECORDS_LOST',
    'has the metric': metrics.body.includes('\nsluice_records_lost 1\n'),
    'logs it': one.stdout.includes('Redis lost changes of policies and keys'),
    'keeps its copy': hasCopied(one.dataFolder),
    'keeps its policies': (await policiesOf(one)) === 'default late stays',
  }
  return unmet(`${one.url} while lost`, promises)
}

/**
 * Returns broken promises after the records were restored.
 * @param {SluiceService} one
 * @param {{ secret: string }} shop
 * @param {{ secret: string, key: { id: string } }} leaked
 */
async function problemsAfterRestore(one, shop, leaked) {
  const change = await one.call('PUT', '/v1/policies/late', { client: 'late', rules: '8/hour' })
  const promises = {
    'has the policies, and not the one that was deleted': (await policiesOf(one)) === 'default late stays',
    'lets the key in': (await check(one, shop.secret)) === 200,
    'refuses the key that was revoked': REFUSALS.includes(await check(one, leaked.secret)),
    'takes changes': change.status === 200,
  }
  return unmet(`${one.url} when restored`, promises)
}

/** @param {SluiceService} one */
async function problemsOfAudit(one) {
  const { entries } = (await one.call('GET', '/v1/audit?target=redis')).body.data
  return unmet('the audit log', { 'has the restore once': entries.length === 1 && entries[0].action === 'records.restore' })
}

/**
 * Runs the command on each instance until one accepts. Only the instance with the latest records does.
 * @param {readonly SluiceService[]} instances
 */
async function restoreFrom(instances) {
  const wrong = []
  let done = 0
  for (const one of instances) {
    const planned = await one.sluice('records', 'restore', '--dry-run')
    if (planned.code === 4 && planned.stderr.includes('another instance knows')) continue
    if (planned.code !== 0 || (await recordsOf(one)) !== 'lost') wrong.push(`a dry run at ${one.url}: ${JSON.stringify(planned)}`)
    const restored = await one.sluice('records', 'restore')
    if (restored.code !== 0) wrong.push(`a restore at ${one.url}: ${restored.stderr}`)
    done += 1
    break
  }
  return done === 1 ? wrong : [...wrong, 'no instance could restore']
}

/** @param {SluiceService} one */
async function policiesOf(one) {
  const { policies } = (await one.call('GET', '/v1/policies')).body.data
  return policies.map((/** @type {{ name: string }} */ { name }) => name).join(' ')
}

/**
 * @param {SluiceService} one
 * @param {string} secret
 */
async function check(one, secret) {
  return (await one.call('POST', '/v1/check', { client_id: 'ada', route: '/' }, { 'api-key': secret })).status
}

/**
 * @param {string} where
 * @param {Readonly<Record<string, boolean>>} promises
 */
function unmet(where, promises) {
  return Object.entries(promises).flatMap(([promise, isMet]) => (isMet ? [] : [`${where}: not so: ${promise}`]))
}

/** Repeated checks on all instances, with a valid key and with a revoked one. */
class Checks {
  #isOver = false
  /** @type {SluiceService | undefined} */
  #paused
  #running
  sent = 0
  /** Checks that passed with the revoked key. */
  passedWithRevoked = 0
  worstMs = 0
  /** @type {Set<string>} */
  #wrong = new Set()

  /**
   * @param {readonly SluiceService[]} instances
   * @param {string} alive
   * @param {string} revoked
   */
  constructor(instances, alive, revoked) {
    this.#running = Promise.all(instances.map((one) => this.#run(one, alive, revoked)))
  }

  get wrong() {
    return [...this.#wrong]
  }

  /**
   * Pauses the checks on an instance while it restarts.
   * @param {SluiceService} one
   * @param {() => Promise<void>} work
   */
  async without(one, work) {
    this.#paused = one
    await pause(10 * CHECK_EVERY_MS)
    await work()
    this.#paused = undefined
  }

  async stop() {
    this.#isOver = true
    await this.#running
  }

  /**
   * @param {SluiceService} one
   * @param {string} alive
   * @param {string} revoked
   */
  async #run(one, alive, revoked) {
    while (!this.#isOver) {
      await pause(CHECK_EVERY_MS)
      if (this.#paused === one) continue
      try {
        await this.#both(one, alive, revoked)
      } catch (error) {
        if (this.#paused !== one) this.#wrong.add(`a check failed: ${error}`)
      }
    }
  }

  /**
   * @param {SluiceService} one
   * @param {string} alive
   * @param {string} revoked
   */
  async #both(one, alive, revoked) {
    const startMs = performance.now()
    const status = await check(one, alive)
    const tookMs = performance.now() - startMs
    this.worstMs = Math.max(this.worstMs, tookMs)
    this.sent += 1
    if (status !== 200) this.#wrong.add(`a check with a good key was answered ${status}`)
    if (tookMs > WORST_CHECK_MS) this.#wrong.add(`a check took more than ${WORST_CHECK_MS} ms`)
    const other = await check(one, revoked)
    if (!REFUSALS.includes(other)) {
      this.passedWithRevoked += 1
      this.#wrong.add(`a check with the key that was revoked was answered ${other}`)
    }
  }
}
