// The client: typed functions for the HTTP API of the service.
// Invariant: every call settles by its deadline, and a check that may have been counted is never sent again.

import * as answers from './answers.ts'
import { Caller } from './caller.ts'
import { CheckBatch, type EndOfTurn, utf8Bytes } from './check-batch.ts'
import { type CheckRequest, type Counter, checkJson, holdCounter } from './check-json.ts'
import { ClientError } from './client-error.ts'
import { type ClientHold, ClientHolds, type OpenedHold, type ReserveRequest, type RunResult } from './client-hold.ts'
import type { CheckedOptions } from './client-options.ts'
import { LIMITS } from './contract/constants.ts'
import type { Answer, CheckError } from './contract/shapes.ts'
import { ServiceGuard } from './guard.ts'
import type { Connection } from './transport/connection.ts'
import { Transport } from './transport/transport.ts'

/** Preconditions for changing a policy. If they are not met, the call fails with `ERR_PRECONDITION`. */
export interface ExpectedPolicy {
  /** Change the policy only if it still has this `etag`. This protects changes by others. */
  readonly ifMatch?: string
  /** `'*'`: add the policy only if none with this name exists. */
  readonly ifNoneMatch?: '*'
}

/** The wanted entries of the audit log. */
export interface AuditQuery {
  /** Default: `changes`. */
  readonly of?: 'changes' | 'sign-ins'
  /** Text to find in the action, the target, or the actor's id or name. */
  readonly search?: string
  /** Only entries about this target. */
  readonly target?: string
  /** The `next` of the previous page. */
  readonly before?: string
  readonly limit?: number
}

export interface Client {
  /** Decides, and spends the cost if allowed. Checks of one turn of the event loop are sent in one request. */
  check(check: CheckRequest): Promise<answers.CheckDecision>
  /** Decides many checks independently. The decisions are in the order of the checks. */
  checkMany(checks: readonly CheckRequest[]): Promise<answers.CheckDecision[]>
  /** Holds units until it is known what was used, and decides as `check` does. Settle or cancel the hold. */
  reserve(request: ReserveRequest): Promise<ClientHold>
  /** Reserves, calls `work`, settles what `work` did not, and cancels if it throws. The result says whether `work` ran. */
  run<T>(request: ReserveRequest, work: (hold: ClientHold) => T | Promise<T>): Promise<RunResult<T>>
  /** Returns a hold of an earlier reserve, by its token. Sends nothing. */
  openHold(token: string): OpenedHold
  /** Reads the current usage. Spends nothing. */
  usage(check: CheckRequest): Promise<answers.Usage>
  /** Resets what was used. */
  reset(counter: Counter): Promise<answers.Counted>
  /** Gives back units (default: 1), never more than were used. */
  refund(check: CheckRequest): Promise<answers.Counted>
  /** Sets the count of one rule (default: the first) to `used`. */
  set(counter: Counter & { readonly used: number; readonly rule?: string }): Promise<answers.Counted>
  readonly policies: {
    list(options?: { readonly search?: string; readonly after?: string; readonly limit?: number }): Promise<answers.PolicyPage>
    get(name: string): Promise<answers.ListedPolicy>
    /** Adds or replaces the policy with this name. */
    put(policy: answers.PolicySpec, expected?: ExpectedPolicy): Promise<answers.ListedPolicy>
    delete(name: string, expected?: Pick<ExpectedPolicy, 'ifMatch'>): Promise<answers.ListedPolicy>
    /** Reads what a policy in shadow mode would have denied, with at most `limit` clients. */
    shadow(name: string, options?: { readonly limit?: number }): Promise<answers.ShadowReport>
  }
  readonly keys: {
    list(): Promise<answers.KeyFacts[]>
    create(options: {
      readonly name: string
      readonly scopes: readonly answers.Scope[]
      readonly expiresAt?: Date
    }): Promise<answers.NewKey>
    /** Creates a second key with the same name and scopes. The first stays valid for the grace period, or until it is revoked. */
    rotate(id: string, options?: { readonly graceSeconds?: number; readonly expiresAt?: Date }): Promise<answers.NewKey>
    /** Revokes a key. The last key with the scope `admin` fails with `ERR_KEY_LAST` unless `force` is set. */
    revoke(id: string, options?: { readonly force?: boolean }): Promise<answers.KeyFacts>
  }
  /** Administrative changes, or sign-ins to the dashboard, newest first. Needs a key with the scope `admin`. */
  audit(options?: AuditQuery): Promise<answers.AuditPage>
  /** Policies and keys that the store has lost. */
  readonly records: {
    status(): Promise<answers.RecordsStatus>
    /** Writes the records that the answering instance knows. With `dryRun` it only returns the plan. */
    restore(options?: { readonly dryRun?: boolean }): Promise<answers.Restored>
  }
  /** Statistics of the answering instance: the last hour, or fewer seconds. */
  stats(options?: { readonly seconds?: number; readonly policy?: string }): Promise<answers.Stats>
  /** The busiest clients of the last hour at the answering instance. */
  top(options?: { readonly by?: 'denied' | 'allowed'; readonly limit?: number }): Promise<answers.Top>
  /** Readiness of the service. Needs no key. */
  health(): Promise<answers.Health>
  /** Closes the connections. Open calls fail. */
  close(): void
}

/** Creates a client over a connection. Connects at the first call. */
export function clientOver(connection: Connection, options: CheckedOptions, endOfTurn: EndOfTurn): Client {
  const { url: place, retry, failure } = options
  const transport = new Transport({ connection, place, timeoutMs: failure.timeoutMs, retry })
  const caller = new Caller(transport)
  const guard = new ServiceGuard(failure)
  const holds = new ClientHolds(caller, guard)

  /** Sends a lone check by itself: the service reads it from the socket, which is faster. The longest ones fit only a batch. */
  const send = async (checks: readonly string[], body: () => string): Promise<readonly (Answer | CheckError)[]> => {
    if (checks.length === 1 && utf8Bytes(checks[0]) <= LIMITS.mostBodyBytes) {
      return [await caller.askWithText('check', checks[0], asIs)]
    }
    const results = await caller.askWithText('checkBatch', body(), ({ results }) => [...results])
    if (results.length === checks.length) return results
    throw new ClientError('ERR_ANSWER', `${checks.length} checks were sent, and ${results.length} results came back`, {
      mayHaveHappened: true,
    })
  }
  const batch = (endOfTurn: EndOfTurn) => new CheckBatch({ send, read: answers.checkDecision, endOfTurn })
  const gathered = batch(endOfTurn)
  const sentAlone = (json: string): Promise<answers.CheckDecision> => {
    const own = batch(() => {})
    const decided = own.add(json)
    own.flush()
    return decided
  }

  const decided = (check: CheckRequest, ask: () => Promise<answers.CheckDecision>): Promise<answers.CheckDecision> =>
    guard.ask({ clientId: check.clientId, route: check.route, units: check.cost ?? 1 }, ask, asIs)

  return {
    check: (check) => {
      let json: string
      try {
        json = checkJson(check)
      } catch (error) {
        return Promise.reject(error)
      }
      return decided(check, () => (options.batch ? gathered.add(json) : sentAlone(json)))
    },
    checkMany: async (checks) => {
      const inJson = checks.map(checkJson)
      const own = batch(() => {})
      const results = checks.map((check, i) => decided(check, () => own.add(inJson[i])))
      own.flush()
      return Promise.all(results)
    },
    reserve: (request) => holds.reserve(request),
    run: (request, work) => holds.run(request, work),
    openHold: (token) => holds.open(token),
    usage: async (counter) => {
      holdCounter(counter)
      const { clientId, route, attributes, cost } = counter
      const query = { client_id: clientId, route, cost, attributes: attributes && JSON.stringify(attributes) }
      return caller.ask('getUsage', { query }, answers.usage)
    },
    reset: async (counter) => caller.ask('resetCounter', { body: counterBody(counter) }, answers.counted),
    refund: async (counter) => caller.ask('refund', { body: counterBody(counter) }, answers.counted),
    set: async (counter) => caller.ask('setCounter', { body: counterBody(counter) }, answers.counted),
    policies: {
      list: (query = {}) => caller.ask('listPolicies', { query }, answers.policyPage),
      get: (name) => caller.ask('getPolicy', { path: { name } }, asIs),
      put: (policy, expected) =>
        caller.ask('putPolicy', { path: { name: policy.name }, body: policy, header: headersOf(expected) }, asIs),
      delete: (name, expected) => caller.ask('deletePolicy', { path: { name }, header: headersOf(expected) }, asIs),
      shadow: (name, query = {}) => caller.ask('getShadowReport', { path: { name }, query }, answers.shadowReport),
    },
    keys: {
      list: () => caller.ask('listKeys', {}, ({ keys }) => keys.map(answers.keyFacts)),
      create: ({ name, scopes, expiresAt }) =>
        caller.ask('createKey', { body: { name, scopes, expires_at: expiresAt?.toISOString() } }, answers.newKey),
      rotate: (id, { graceSeconds, expiresAt } = {}) => {
        const body = { grace_in_second: graceSeconds, expires_at: expiresAt?.toISOString() }
        return caller.ask('rotateKey', { path: { id }, body }, answers.newKey)
      },
      revoke: (id, { force = false } = {}) =>
        caller.ask('revokeKey', { path: { id }, query: { force: force ? 'true' : undefined } }, answers.keyFacts),
    },
    audit: (query = {}) => caller.ask('readAudit', { query }, answers.auditPage),
    records: {
      status: () => caller.ask('getRecords', {}, answers.recordsStatus),
      restore: ({ dryRun = false } = {}) => caller.ask('restoreRecords', { body: { dry_run: dryRun } }, answers.restored),
    },
    stats: (query = {}) => caller.ask('getStats', { query }, answers.stats),
    top: (query = {}) => caller.ask('getTop', { query }, answers.top),
    health: () => caller.askReadiness(answers.health),
    close: () => transport.close(),
  }
}

/** Returns the body of a change of counters. Throws ERR_OPTION. */
function counterBody<C extends Counter>(counter: C): Omit<C, 'clientId'> & { readonly client_id: string } {
  holdCounter(counter)
  const { clientId: client_id, ...others } = counter
  return { client_id, ...others }
}

function headersOf({ ifMatch, ifNoneMatch }: ExpectedPolicy = {}) {
  return { 'if-match': ifMatch, 'if-none-match': ifNoneMatch }
}

function asIs<T>(value: T): T {
  return value
}
