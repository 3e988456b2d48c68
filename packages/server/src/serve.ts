// The service: assembles configuration, store, policies, keys and the API, and closes them in order.
// Invariant: everything acknowledged is durable, and open requests are answered before the service stops.

import { setTimeout as pause } from 'node:timers/promises'
import { openStorage } from './backends/storage.ts'
import { isLocal, showListen } from './config/addresses.ts'
import type { Config } from './config/config.ts'
import type { ConfigFile } from './config/config-file.ts'
import { isAuthenticated, listenAddresses } from './config/options.ts'
import { readTlsFiles } from './config/tls-files.ts'
import { type FileEvent, WatchedFile } from './config/watched-file.ts'
import { Decider } from './decide/decider.ts'
import { Desk } from './desk/desk.ts'
import { openDoors, reloadTls } from './doors/open-doors.ts'
import { compileTicks } from './early-ticks.ts'
import { ServerError } from './errors.ts'
import { makeFirstKey, printKey } from './first-key.ts'
import { Fleet } from './fleet/fleet.ts'
import type { ShadowedPolicy } from './fleet/published-shadows.ts'
import { FailedKeys } from './keys/failed-keys.ts'
import { KeyRing } from './keys/key-ring.ts'
import { type Logger, makeLogger } from './log/logger.ts'
import type { PolicyBook } from './policies/policy-book.ts'
import { etagOf } from './policies/policy-etag.ts'
import { PolicyKeeper } from './policies/policy-keeper.ts'
import type { Service, ServiceStatus } from './service.ts'
import { Stats } from './stats/stats.ts'
import { VERSION } from './version.ts'

export interface ServeOptions {
  readonly config: Config
  /** The configuration file, if there is one. Its policies are reloaded when it changes. */
  readonly file?: ConfigFile | undefined
  readonly logger?: Logger
  /** Called with the admin key of the first start, which is shown only once. Default: prints it to standard output. */
  readonly onFirstKey?: (secret: string) => void
  /** Cancels the start until the service listens: `serve` releases everything and throws the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface RunningService {
  /** For example `http://127.0.0.1:8080` or `unix:/run/sluice.sock`. */
  readonly address: string
  /** The address of administration: `address`, unless it has a listener of its own. */
  readonly adminAddress: string
  /** The addresses of all doors, HTTP first. */
  readonly addresses: readonly string[]
  /** Resolves when policies and keys are loaded. Only a database that does not answer delays this. */
  readonly ready: Promise<void>
  /** The reason why the service is not ready yet, such as `Redis does not answer`. Undefined once it has been ready. */
  trouble(): string | undefined
  /** Reloads the certificate and the policies of the configuration file, and logs the result. */
  reload(): Promise<void>
  /** Drains, saves the counters and stops. */
  close(): Promise<void>
}

/** Time that a start waits for the database before it continues unready. */
const LOAD_MS = 5000

/** Time limit for open requests after the listeners have stopped. */
const FINISH_MS = 10_000

export async function serve(options: ServeOptions): Promise<RunningService> {
  const { config, signal } = options
  signal?.throwIfAborted()
  refusePublic(config)
  // First, so that a service without usable TLS files creates neither a folder nor a key.
  const tls = await readTlsFiles(config)
  await compileTicks()
  const logger = options.logger ?? makeLogger(config.logLevel)
  const stats = new Stats()
  const status: ServiceStatus = { state: 'starting' }
  let decider: Decider | undefined
  const storage = await openStorage({ config, logger, onStore: (isUp) => decider?.health.report(isUp) })
  const closing: (() => Promise<unknown>)[] = [() => storage.close()]
  const started = new AbortController()
  try {
    const policies = new PolicyKeeper(storage.records, ({ name, error }) =>
      logger.error({ err: error, policy: name }, 'a policy cannot be read and is not in force'),
    )
    const keys = new KeyRing(storage.records, Date.now, ({ id, error }) =>
      logger.error({ err: error, key: id }, 'an API key cannot be read and does not work'),
    )
    const { storeFacts, maintenance, audit } = storage
    const desk = new Desk({ records: storage.records, audit, keys, policies, maintenance, storeKind: storeFacts.kind })
    closing.unshift(async () => {
      policies.close()
      keys.close()
    })
    // A failure is only logged: the times of last use are not essential.
    closing.unshift(() =>
      desk.close().catch((error: unknown) => logger.warn({ err: error }, 'the times of last use of keys could not be stored')),
    )
    const file = options.file && watchFile(options.file, policies, stats, logger)
    await file?.start()
    if (file !== undefined) closing.unshift(() => file.stop())
    const failure = { then: config.failureMode, timeoutMs: config.failureTimeoutMs }
    const fallbackKeys = config.failureMaxKeys
    const { retryWithinMs, maxHolds: mostHolds } = config
    const limits = { fallbackKeys, mostHolds, retryWithinMs }
    decider = new Decider({ store: storage.store, failure, ...limits, policies: policies.book, stats })
    closing.unshift(async () => decider?.close())
    const fleet = new Fleet({
      board: storage.fleet,
      stats,
      version: VERSION,
      stateOf: () => status.state,
      shadowed: () => shadowedPolicies(stats, policies.book),
      onProblem: (error) =>
        error === undefined
          ? logger.info('the report of this instance is published again')
          : logger.warn({ err: error }, 'the report of this instance cannot be published for the fleet'),
    })
    closing.unshift(() => fleet.close())
    const { keysRequired, insecureAllowUnauthenticated: anyHost, trustedProxies } = config
    const service: Service = {
      version: VERSION,
      status,
      storeFacts,
      records: maintenance,
      decider,
      stats,
      policies,
      keys,
      failedKeys: new FailedKeys(stats),
      desk,
      audit,
      fleet,
      logger,
      keysRequired,
      anyHost,
      trustedProxies,
    }

    const becomeReady = (): void => {
      if (status.state === 'starting') status.state = 'ready'
    }
    const startFromCopy = async (): Promise<void> => {
      if (status.state !== 'starting' || !(await storage.hasCopy())) return
      becomeReady()
      decider?.health.report(false)
      logger.warn(`${storage.trouble()}: starting with the local copy of policies and keys`)
    }
    let isLoaded = false
    const loaded = storage.loaded.then(() => {
      isLoaded = true
      fleet.start()
      if (!keysRequired || keys.list().length > 0) becomeReady()
    })
    // It keeps the process alive until the service listens. Pauses between attempts to reach the database do not.
    const late = pause(LOAD_MS, undefined, { signal: AbortSignal.any([started.signal, ...(signal ? [signal] : [])]) }).catch(
      () => {},
    )
    await Promise.race([loaded, late])
    giveUp(signal, loaded)
    if (!isLoaded) await startFromCopy()

    const doors = await openDoors({ config, service, tls })
    const closeOptions = { delayMs: config.drainDelay, withinMs: FINISH_MS }
    closing.unshift(() => Promise.all(doors.all.map((door) => door.close(closeOptions))))
    await storage.started()
    // After listening, so that a start that fails at a port in use creates no key.
    const ready = loaded.then(async () => {
      if (keysRequired) await makeFirstKey(keys, desk.keys, options.onFirstKey ?? printKey)
      becomeReady()
    })
    ready.catch((error: unknown) => logger.error({ err: error }, 'the service cannot become ready'))
    await Promise.race([ready, late])
    giveUp(signal, ready)
    await startFromCopy()
    if (status.state === 'starting') logger.warn(`${storage.trouble()}: listening, but not ready until this is resolved`)
    const [{ address }] = doors.http
    const adminAddress = doors.http.at(-1)?.address ?? address
    logger.info({ address, adminAddress, store: storeFacts.kind, policies: policies.book.size }, 'listening')

    let closed: Promise<void> | undefined
    const close = async (): Promise<void> => {
      status.state = 'draining'
      for (const door of doors.all) door.beginDrain()
      logger.info({ drainDelayMs: config.drainDelay }, 'draining: requests are still answered')
      await pause(config.drainDelay)
      for (const step of closing) await step()
      logger.info('stopped')
    }
    started.abort()
    return {
      address,
      adminAddress,
      addresses: doors.all.map((door) => door.address),
      ready,
      trouble: () => (status.state === 'starting' ? storage.trouble() : undefined),
      reload: async () => {
        // A certificate that cannot be used must not prevent reloading the policies.
        const failure = await reloadTls(config, doors.all, logger)
        await file?.reload()
        if (config.tlsCert === undefined && file === undefined) {
          logger.info('nothing to reload: the service has neither a certificate nor a configuration file')
        }
        if (failure !== undefined) throw failure
      },
      close: () => {
        closed ??= close()
        return closed
      },
    }
  } catch (error) {
    started.abort()
    for (const step of closing) await step()
    if (signal?.aborted && error === signal.reason) logger.info('stopped before it was started')
    throw error
  }
}

/** Throws if the start was cancelled. Ignores later failures of `begun`. */
function giveUp(signal: AbortSignal | undefined, begun: Promise<void>): void {
  if (!signal?.aborted) return
  begun.catch(() => {})
  throw signal.reason
}

function refusePublic(config: Config): void {
  if (config.insecureAllowUnauthenticated) return
  const reachable = listenAddresses(config).find(([name, address]) => !isLocal(address) && !isAuthenticated(name, config))
  if (reachable === undefined) return
  throw new ServerError('ERR_CONFIG', `others can reach ${showListen(reachable[1])}, and no API key is required`)
}

function watchFile(file: ConfigFile, { book }: PolicyKeeper, stats: Stats, logger: Logger): WatchedFile {
  stats.configRead(true)
  const onEvent = (event: FileEvent): void => {
    stats.configRead(event.kind === 'taken')
    if (event.kind === 'taken') logger.info(event, 'the configuration file was read')
    else logger.error({ problem: event.message }, 'the configuration file cannot be used: the previous policies stay in force')
  }
  return new WatchedFile({ file, book, onEvent })
}

/** Returns the policies in shadow mode that have counts, without those that were changed since. */
function* shadowedPolicies({ shadows }: Stats, book: PolicyBook): Generator<ShadowedPolicy> {
  for (const [{ name }, counts] of shadows.entries()) {
    const policy = book.get(name)
    if (policy !== undefined && shadows.get(policy) === counts) yield { name, etag: etagOf(policy), counts }
  }
}
