// Asks the service: what its HTTP API does, as functions with types.
// What must stay true: every call settles by its deadline, and a check that may have been counted is never sent again.

import type { Scope } from '../keys/api-key.ts'
import type { PolicySpec } from '../policies/policy.ts'
import * as answers from './answers.ts'
import { CheckBatch } from './check-batch.ts'
import { type CheckRequest, checkJson } from './check-json.ts'
import { ClientError } from './client-error.ts'
import { type ClientOptions, readOptions } from './client-options.ts'
import { type Answer, type Call, Transport } from './transport.ts'

/** Who is counted for what. */
export interface Counter {
  readonly clientId: string
  readonly route: string
}

/** A policy is changed only if it is what is expected; otherwise the call fails with `ERR_PRECONDITION`. */
export interface ExpectedPolicy {
  /** The `etag` that was seen, so that nobody else's change is overwritten. */
  readonly ifMatch?: string
  /** `'*'`: there is none of this name yet. */
  readonly ifNoneMatch?: '*'
}

export interface Client {
  /** Decides, and spends if it is allowed. Checks of the same turn of the event loop travel in one request. */
  check(check: CheckRequest): Promise<answers.CheckDecision>
  /** Many at once, each decided by itself; the decisions are in the order of the checks. */
  checkMany(checks: readonly CheckRequest[]): Promise<answers.CheckDecision[]>
  /** How things stand; spends nothing. */
  usage(check: CheckRequest): Promise<answers.Usage>
  /** Forgets what was used. */
  reset(counter: Counter): Promise<answers.Counted>
  /** Gives units back, 1 by default; never more than were used. */
  refund(check: CheckRequest): Promise<answers.Counted>
  /** Puts the count of one rule, the first unless named, at `used`. */
  set(counter: Counter & { readonly used: number; readonly rule?: string }): Promise<answers.Counted>
  readonly policies: {
    list(options?: { readonly search?: string; readonly after?: string; readonly limit?: number }): Promise<answers.PolicyPage>
    get(name: string): Promise<answers.ListedPolicy>
    /** Adds or replaces the policy of this name. */
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
    /** A second key of the same name and scopes; the first lives on for the grace period, or until it is revoked. */
    rotate(id: string, options?: { readonly graceSeconds?: number; readonly expiresAt?: Date }): Promise<answers.NewKey>
    /** Ends a key. The last one that can administer fails with `ERR_KEY_LAST` unless `force` is set. */
    revoke(id: string, options?: { readonly force?: boolean }): Promise<answers.KeyFacts>
  }
  /** Policies and keys in Redis, if it has lost some. */
  readonly records: {
    status(): Promise<answers.RecordsStatus>
    /** Writes what the instance that answers knows; with `dryRun`, only says what that would be. */
    restore(options?: { readonly dryRun?: boolean }): Promise<answers.Restored>
  }
  /** The last hour, or fewer seconds, of the instance that answers. */
  stats(options?: { readonly seconds?: number; readonly policy?: string }): Promise<answers.Stats>
  /** The busiest clients of the last hour, of the instance that answers. */
  top(options?: { readonly by?: 'denied' | 'allowed'; readonly limit?: number }): Promise<answers.Top>
  /** Whether the service wants requests. Needs no key. */
  health(): Promise<answers.Health>
  /** Closes the connections. What is under way fails. */
  close(): void
}

/** Makes a client. Throws a ClientError if an option cannot work; connects when it is first asked something. */
export function createClient(options: ClientOptions = {}): Client {
  const { then, batch: gathers, ...connection } = readOptions(options)
  const transport = new Transport(connection)

  /** A body that is text already is JSON already. */
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
      throw new ClientError('ERR_ANSWER', `${method} ${path} was answered in a form that is not known here`, {
        mayHaveHappened: true,
        cause,
      })
    }
  }

  const sendBatch = async (body: string, count: number): Promise<readonly unknown[]> => {
    const results = await call('POST', '/v1/check/batch', body, (data: { results: unknown[] }) => [...data.results])
    if (results.length === count) return results
    throw new ClientError('ERR_ANSWER', `${count} checks were asked, and ${results.length} answered`, { mayHaveHappened: true })
  }
  const gathered = new CheckBatch(sendBatch)

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

/** Asks whether the service wants requests. Not being ready is an answer, not a failure. */
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

/** The data of an answer; throws what the service says went wrong. */
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
  const message = `what answered with status ${status} is not this service: ${JSON.stringify(body.slice(0, 80))}`
  throw new ClientError('ERR_ANSWER', message, { status, mayHaveHappened: status < 300 || status >= 500 })
}

function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given}`
}
