// The service: assembles configuration, store, policies, keys and the API, and closes them in order.
// Invariant: everything acknowledged is durable, and open requests are answered before the service stops.

import { X509Certificate } from 'node:crypto'
import type { Server as TlsServer } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { type BuiltApp, buildApp, type Plane } from './api/app.ts'
import type { App } from './api/route-options.ts'
import { removeStaleSocket } from './api/stale-socket.ts'
import { isLocal, type ListenAddress, showListen } from './config/addresses.ts'
import type { Config } from './config/config.ts'
import type { ConfigFile } from './config/config-file.ts'
import { readTlsFiles, type TlsFiles } from './config/tls-files.ts'
import { type FileEvent, WatchedFile } from './config/watched-file.ts'
import { Decider } from './decide/decider.ts'
import { ServerError } from './errors.ts'
import { KeyRing, type NewApiKey } from './keys/key-ring.ts'
import { type Logger, makeLogger } from './log/logger.ts'
import { PolicyKeeper } from './policies/policy-keeper.ts'
import type { Service, ServiceStatus } from './service.ts'
import { Stats } from './stats/stats.ts'
import { openStorage, type ServiceStorage } from './storage.ts'
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
  /** Resolves when policies and keys are loaded. Only a Redis that does not answer delays this. */
  readonly ready: Promise<void>
  /** The reason why the service is not ready yet, such as `Redis does not answer`. Undefined once it has been ready. */
  trouble(): string | undefined
  /** Reloads the certificate and the policies of the configuration file, and logs the result. */
  reload(): Promise<void>
  /** Drains, saves the counters and stops. */
  close(): Promise<void>
}

/** Time that a start waits for Redis before it continues unready. */
const LOAD_MS = 5000

/** Pause between attempts to create the first key, while Redis lacks records that another instance knows. */
const FIRST_KEY_AGAIN_MS = 500

/** Time limit for open requests after the listeners have stopped. */
const FINISH_MS = 10_000

export async function serve(options: ServeOptions): Promise<RunningService> {
  const { config, signal } = options
  signal?.throwIfAborted()
  refusePublic(config)
  // First, so that a service without usable TLS files creates neither a folder nor a key.
  const tls = await readTlsFiles(config)
  const logger = options.logger ?? makeLogger(config.logLevel)
  const stats = new Stats()
  const status: ServiceStatus = { state: 'starting' }
  let decider: Decider | undefined
  const storage = await openStorage({ config, logger, onStore: (isUp) => decider?.health.report(isUp) })
  const closing: (() => Promise<unknown>)[] = [() => storage.close()]
  try {
    const policies = new PolicyKeeper(storage.records, ({ name, error }) =>
      logger.error({ err: error, policy: name }, 'a policy cannot be read and is not in force'),
    )
    const keys = new KeyRing(storage.records, Date.now, ({ id, error }) =>
      logger.error({ err: error, key: id }, 'an API key cannot be read and does not work'),
    )
    // A failure is only logged: the times of last use are not essential.
    closing.unshift(() =>
      keys.close().catch((error: unknown) => logger.warn({ err: error }, 'the times of last use of keys could not be stored')),
    )
    closing.unshift(async () => policies.close())
    const file = options.file && watchFile(options.file, policies, stats, logger)
    await file?.start()
    if (file !== undefined) closing.unshift(() => file.stop())
    const failure = { then: config.failureMode, timeoutMs: config.failureTimeoutMs }
    const fallbackKeys = config.failureMaxKeys
    decider = new Decider({ store: storage.store, failure, fallbackKeys, policies: policies.book, stats })
    closing.unshift(async () => decider?.close())
    const { keysRequired, insecureAllowUnauthenticated: anyHost, trustedProxies } = config
    const { storeFacts, maintenance, audit } = storage
    const service: Service = {
      version: VERSION,
      status,
      storeFacts,
      records: maintenance,
      decider,
      stats,
      policies,
      keys,
      audit,
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
      if (!keysRequired || keys.list().length > 0) becomeReady()
    })
    const late = pause(LOAD_MS, undefined, { ref: false, ...(signal && { signal }) }).catch(() => {})
    await Promise.race([loaded, late])
    giveUp(signal, loaded)
    if (!isLoaded) await startFromCopy()

    const listeners = await listen(config, service, tls)
    const closeOptions = { delayMs: config.drainDelay, withinMs: FINISH_MS }
    closing.unshift(() => Promise.all(listeners.map(({ built }) => built.close(closeOptions))))
    await storage.started()
    // After listening, so that a start that fails at a port in use creates no key.
    const ready = loaded.then(async () => {
      if (keysRequired) await makeFirstKey(storage, keys, options.onFirstKey ?? printKey)
      becomeReady()
    })
    ready.catch((error: unknown) => logger.error({ err: error }, 'the service cannot become ready'))
    await Promise.race([ready, late])
    giveUp(signal, ready)
    await startFromCopy()
    if (status.state === 'starting') logger.warn(`${storage.trouble()}: listening, but not ready until this is resolved`)
    const [{ address }] = listeners
    const adminAddress = listeners.at(-1)?.address ?? address
    logger.info({ address, adminAddress, store: storeFacts.kind, policies: policies.book.size }, 'listening')

    let closed: Promise<void> | undefined
    const close = async (): Promise<void> => {
      status.state = 'draining'
      for (const { built } of listeners) built.beginDrain()
      logger.info({ drainDelayMs: config.drainDelay }, 'draining: requests are still answered')
      await pause(config.drainDelay)
      for (const step of closing) await step()
      logger.info('stopped')
    }
    return {
      address,
      adminAddress,
      ready,
      trouble: () => (status.state === 'starting' ? storage.trouble() : undefined),
      reload: async () => {
        // A certificate that cannot be used must not prevent reloading the policies.
        const failure = await reloadTls(config, listeners, logger)
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

function refusePublic({ listen, adminListen, keysRequired, insecureAllowUnauthenticated }: Config): void {
  if (keysRequired || insecureAllowUnauthenticated) return
  const reachable = [listen, adminListen].find((address) => address !== undefined && !isLocal(address))
  if (reachable === undefined) return
  throw new ServerError('ERR_CONFIG', `others can reach ${showListen(reachable)}, and no API key is required`)
}

/** Creates the admin key of a first start. */
async function makeFirstKey(storage: ServiceStorage, keys: KeyRing, onFirstKey: (secret: string) => void): Promise<void> {
  if (keys.list().length > 0 || !(await storage.isFirst())) return
  const made = await createUnlessLost(keys)
  if (made === undefined) return
  const { key, secret } = made
  // First, because the secret cannot be shown later.
  onFirstKey(secret)
  const after = { name: key.name, scopes: key.scopes }
  await storage.audit.append({ actor: 'first-start', action: 'key.create', target: key.id, after })
}

/** Another instance may know keys that Redis has lost. Once they are restored, no first key is created. */
async function createUnlessLost(keys: KeyRing): Promise<NewApiKey | undefined> {
  while (keys.list().length === 0) {
    try {
      return await keys.create({ name: 'first-admin', scopes: ['admin'] })
    } catch (error) {
      if (!(error instanceof ServerError && error.code === 'ERR_RECORDS_LOST')) throw error
      await pause(FIRST_KEY_AGAIN_MS, undefined, { ref: false })
    }
  }
  return undefined
}

function printKey(secret: string): void {
  process.stdout.write(`This is the first start. The admin key, shown only now:\n\n  ${secret}\n\n`)
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

interface Listener {
  readonly built: BuiltApp
  readonly address: string
}

async function listen(config: Config, service: Service, tls: TlsFiles | undefined): Promise<readonly Listener[]> {
  const { listen: main, adminListen } = config
  const planned: readonly (readonly [ListenAddress, readonly Plane[]])[] =
    adminListen === undefined
      ? [[main, ['deciding', 'administration']]]
      : [
          [main, ['deciding']],
          [adminListen, ['administration']],
        ]
  const listeners: Listener[] = []
  try {
    for (const [address, planes] of planned) {
      const built = buildApp({ service, planes, tls })
      const scheme = tls === undefined ? 'http' : 'https'
      const opened = open(built.app, address, scheme).catch((error: unknown) => {
        throw isTaken(error) ? takenAddress(error, address, address === main ? '--listen' : '--admin-listen') : error
      })
      listeners.push({ built, address: await opened })
    }
  } catch (error) {
    await Promise.all(listeners.map(({ built }) => built.close({ delayMs: 0, withinMs: 0 })))
    throw error
  }
  return listeners
}

function isTaken(error: unknown): error is NodeJS.ErrnoException {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
}

/** Keeps `code` and `syscall`, so that the command prints only the message, as for any error of the operating system. */
function takenAddress({ code, syscall }: NodeJS.ErrnoException, address: ListenAddress, flag: string): Error {
  const message = `${showListen(address)} is in use by another process: choose another with ${flag}`
  return Object.assign(new Error(message), { code, syscall })
}

async function open(app: App, address: ListenAddress, scheme: string): Promise<string> {
  if ('socket' in address) {
    await removeStaleSocket(address.socket)
    await app.listen({ path: address.socket })
    return showListen(address)
  }
  await app.listen(address)
  const bound = app.server.address() as { port: number }
  return `${scheme}://${showListen({ host: address.host, port: bound.port })}`
}

/** Uses the certificate for new connections; open connections keep theirs. Returns the error if it cannot be used. */
async function reloadTls(config: Config, listeners: readonly Listener[], logger: Logger): Promise<Error | undefined> {
  try {
    const tls = await readTlsFiles(config)
    if (tls === undefined) return undefined
    const { subject, validTo } = new X509Certificate(tls.cert)
    for (const { built } of listeners) (built.app.server as unknown as TlsServer).setSecureContext(tls)
    logger.info({ certificate: config.tlsCert, subject, validTo }, 'the certificate was reloaded')
    return undefined
  } catch (error) {
    logger.error({ err: error, certificate: config.tlsCert }, 'the certificate cannot be used: the previous one stays in use')
    return error as Error
  }
}
