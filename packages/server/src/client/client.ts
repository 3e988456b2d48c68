// The client: typed functions for the HTTP API of the service.
// Invariant: every call settles by its deadline, and a check that may have been counted is never sent again.

import type { Scope } from '../keys/api-key.ts'
import type { PolicySpec } from '../policies/policy.ts'
import * as answers from './answers.ts'
import { CheckBatch } from './check-batch.ts'
import { type CheckRequest, checkJson } from './check-json.ts'
import { ClientError } from './client-error.ts'
import { type ClientHold, ClientHolds, type OpenedHold, type ReserveRequest, type RunResult } from './client-hold.ts'
import { type ClientOptions, readOptions } from './client-options.ts'
import { type Answer, type Call, Transport } from './transport.ts'

/** A counter: one client and one route. */
export interface Counter {
  readonly clientId: string
  readonly route: string
}

/** Preconditions for changing a policy. If they are not met, the call fails with `ERR_PRECONDITION`. */
export interface ExpectedPolicy {
  /** Change the policy only if it still has this `etag`. This protects changes by others. */
  readonly ifMatch?: string
  /** `'*'`: add the policy only if none with this name exists. */
  readonly ifNoneMatch?: '*'
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
    put(policy: PolicySpec, expected?: ExpectedPolicy): Promise<answers.ListedPolicy>
    delete(name: string, expected?: Pick<ExpectedPolicy, 'ifMatch'>): Promise<answers.ListedPolicy>
  }
  readonly keys: {
    list(): Promise<answers.KeyFacts[]>
    create(options: {
      readonly name: string
      readonly scopes: readonly Scope[]
      readonly expiresAt?: Date
    }): Promise<answers.NewKey>
    /** Creates a second key with the same name and scopes. The first stays valid for the grace period, or until it is revoked. */
    rotate(id: string, options?: { readonly graceSeconds?: number; readonly expiresAt?: Date }): Promise<answers.NewKey>
    /** Revokes a key. The last key with the scope `admin` fails with `ERR_KEY_LAST` unless `force` is set. */
    revoke(id: string, options?: { readonly force?: boolean }): Promise<answers.KeyFacts>
  }
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

/** Creates a client. Throws a ClientError if an option is not valid. Connects at the first call. */
export function createClient(options: ClientOptions = {}): Client {
  const { then, batch: gathers, ...connection } = readOptions(options)
  const transport = new Transport(connection)

  /** A body of type string is already JSON. */
  const call = async <T>(
    method: Call['method'],
    path: string,
    body: unknown,
    read: (data: never) => T,
    headers: Record<string, string> = {},
  ): Promise<T> => {
    const json = typeof body === 'string' ? body : JSON.stringify(body)
    const answer = await transport.ask({ method, path, headers, ...(body === undefined ? {} : { body: json }) })
    const data = dataOf(answer)
    try {
      return read(data as never)
    } catch (cause) {
      throw new ClientError('ERR_ANSWER', `the answer to ${method} ${path} has an unknown form`, {
        mayHaveHappened: true,
        cause,
      })
    }
  }

  const sendBatch = async (body: string, count: number): Promise<readonly unknown[]> => {
    const results = await call('POST', '/v1/check/batch', body, (data: { results: unknown[] }) => [...data.results])
    if (results.length === count) return results
    throw new ClientError('ERR_ANSWER', `${count} checks were sent, and ${results.length} results came back`, {
      mayHaveHappened: true,
    })
  }
  const gathered = new CheckBatch(sendBatch)
  const holds = new ClientHolds((path, body) => call('POST', path, body, (data: unknown) => data), then)

  const decided = async (result: Promise<unknown>): Promise<answers.CheckDecision> => {
    try {
      return answers.checkDecision(await result)
    } catch (error) {
      if (then === 'throw' || !(error instanceof ClientError && error.isOutage)) throw error
      return answers.fallbackDecision(then === 'allow', error)
    }
  }

  return {
    check: async (check) => {
      const json = checkJson(check)
      return decided(gathers ? gathered.add(json) : sendBatch(`{"checks":[${json}]}`, 1).then(([result]) => result))
    },
    checkMany: async (checks) => {
      const inJson = checks.map(checkJson)
      const batch = new CheckBatch(sendBatch)
      const results = inJson.map((check) => decided(batch.add(check)))
      batch.flush()
      return Promise.all(results)
    },
    reserve: (request) => holds.reserve(request),
    run: (request, work) => holds.run(request, work),
    openHold: (token) => holds.open(token),
    usage: ({ clientId, route, cost }) =>
      call('GET', `/v1/usage${query({ client_id: clientId, route, cost })}`, undefined, answers.usage),
    reset: ({ clientId, route }) => call('POST', '/v1/reset', { client_id: clientId, route }, answers.counted),
    refund: ({ clientId, route, cost }) => call('POST', '/v1/refund', { client_id: clientId, route, cost }, answers.counted),
    set: ({ clientId, route, used, rule }) =>
      call('POST', '/v1/set', { client_id: clientId, route, used, rule }, answers.counted),
    policies: {
      list: (wanted = {}) => call('GET', `/v1/policies${query({ ...wanted })}`, undefined, answers.policyPage),
      get: (name) => call('GET', `/v1/policies/${encodeURIComponent(name)}`, undefined, asIs),
      put: (policy, expected) =>
        call('PUT', `/v1/policies/${encodeURIComponent(policy.name)}`, policy, asIs, headersOf(expected)),
      delete: (name, expected) =>
        call('DELETE', `/v1/policies/${encodeURIComponent(name)}`, undefined, asIs, headersOf(expected)),
    },
    keys: {
      list: () => call('GET', '/v1/keys', undefined, ({ keys }: { keys: unknown[] }) => keys.map(answers.keyFacts)),
      create: ({ name, scopes, expiresAt }) => call('POST', '/v1/keys', { name, scopes, expires_at: expiresAt }, answers.newKey),
      rotate: (id, { graceSeconds, expiresAt } = {}) => {
        const body = { grace_in_second: graceSeconds, expires_at: expiresAt }
        return call('POST', `/v1/keys/${encodeURIComponent(id)}/rotate`, body, answers.newKey)
      },
      revoke: (id, { force = false } = {}) =>
        call('DELETE', `/v1/keys/${encodeURIComponent(id)}${force ? '?force=true' : ''}`, undefined, answers.keyFacts),
    },
    records: {
      status: () => call('GET', '/v1/records', undefined, answers.recordsStatus),
      restore: ({ dryRun = false } = {}) => call('POST', '/v1/records/restore', { dry_run: dryRun }, answers.restored),
    },
    stats: (wanted = {}) => call('GET', `/v1/stats${query({ ...wanted })}`, undefined, answers.stats),
    top: (wanted = {}) => call('GET', `/v1/top${query({ ...wanted })}`, undefined, answers.top),
    health: () => askHealth(transport),
    close: () => transport.close(),
  }
}

/** Reads the readiness of the service. "Not ready" is an answer, not an error. */
export async function askHealth(transport: Transport): Promise<answers.Health> {
  const answer = await transport.ask({ method: 'GET', path: '/readyz' })
  return answers.health(answer.status === 503 ? parsed(answer).data : dataOf(answer))
}

function headersOf({ ifMatch, ifNoneMatch }: ExpectedPolicy = {}): Record<string, string> {
  return { ...(ifMatch && { 'if-match': ifMatch }), ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }) }
}

function asIs(policy: answers.ListedPolicy): answers.ListedPolicy {
  return policy
}

/** Returns the data of a response. Throws the error of a failed one. */
function dataOf(answer: Answer): unknown {
  const { meta, data } = parsed(answer)
  if (answer.status < 300) return data
  const { error = 'ERR_ANSWER', message, problems = [] } = meta as { error?: string; message: string; problems?: [] }
  throw new ClientError(error, message, { status: answer.status, problems, mayHaveHappened: answer.status >= 500 })
}

function parsed({ status, body }: Answer): { readonly meta: object; readonly data: unknown } {
  try {
    const { meta, data } = JSON.parse(body)
    if (typeof meta === 'object' && meta !== null) return { meta, data }
  } catch {}
  const message = `the answer with status ${status} is not from this service: ${JSON.stringify(body.slice(0, 80))}`
  throw new ClientError('ERR_ANSWER', message, { status, mayHaveHappened: status < 300 || status >= 500 })
}

function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given}`
}
