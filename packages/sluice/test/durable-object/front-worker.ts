// A Worker for tests of Durable Objects: makes the calls that a test sends, passes raw messages to objects, and drives its objects.

import { makeRule, type RuleSpec } from '../../src/algorithms/catalogue.ts'
import { SluiceError } from '../../src/core/errors.ts'
import type { FailureOptions } from '../../src/core/guard.ts'
import { createLimiter } from '../../src/create-limiter.ts'
import { encodeCells } from '../../src/engines/state-codec.ts'
import { nameOfState } from '../../src/engines/state-names.ts'
import {
  type DurableObjectStoreOptions,
  durableObjectStore,
  type ObjectContext,
  type ObjectNamespace,
  SluiceObject,
} from '../../src/stores/durable-object/index.ts'

/** Calls of a limiter, all made at once. */
export interface CallsTask {
  readonly rules: readonly RuleSpec[]
  readonly store?: DurableObjectStoreOptions
  readonly failure?: FailureOptions
  readonly calls: readonly (readonly [method: string, ...args: unknown[]])[]
}

/** A request to one object. `path` begins with /test for the methods of TestObject. */
export interface RawTask {
  readonly object: string
  readonly path?: string
  readonly method?: string
  readonly body?: string
}

export type CallOutcome = { readonly value: unknown } | { readonly code: string; readonly message: string }

interface Env {
  readonly SLUICE: ObjectNamespace
}

interface TestContext extends ObjectContext {
  abort(reason: string): void
}

/** The time of all objects, if a test has set it. In workerd a Worker and its objects share one isolate, and so these variables. */
let nowMs: number | undefined
let maxKeys = 1000
/** The behaviour of objects that a test wants: an error of their own, or no answer. */
let fault: string | undefined
let messages = 0

const TESTS: Readonly<Record<string, (object: TestObject, text: string) => unknown>> = {
  abort: (object) => object.ctx.abort('aborted by a test'),
  alarm: (object) => object.alarm(),
  'alarm-at': (object) => object.ctx.storage.getAlarm(),
  'alarm-now': (object) => object.ctx.storage.setAlarm(Date.now()),
  sql: (object, query) => object.ctx.storage.sql.exec(query).toArray(),
  'full-log': (object, limit) => object.writeFullLog(Number(limit)),
}

export class TestObject extends SluiceObject {
  readonly ctx: TestContext

  constructor(ctx: TestContext, env: unknown) {
    super(ctx, env, { maxKeys, clock: { now: () => nowMs ?? Date.now() } })
    this.ctx = ctx
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname.startsWith('/test/')) {
      const result = await TESTS[pathname.slice('/test/'.length)](this, await request.text())
      return Response.json(result ?? null)
    }
    messages += 1
    if (fault === 'throw') throw new Error('thrown by a test')
    if (fault === 'silence') await new Promise(() => {})
    const response = await super.fetch(request)
    if (fault === 'throw after') throw new Error('thrown by a test')
    return fault === 'page' ? new Response('<html>', { status: 502 }) : response
  }

  /** Writes a log that has one entry less than its limit, one for each ms until now, for the key `full`. */
  writeFullLog(limit: number): void {
    const rule = makeRule({ algorithm: 'sliding-log', limit, window: '1d' })
    const cells = new Float64Array(rule.width + 2 * limit)
    rule.log?.frame(new Float64Array(rule.width), 0, cells, 0, cells.length)
    const endMs = nowMs ?? Date.now()
    for (let i = limit - 1; i > 0; i--) rule.spend(cells, 0, endMs - i, 1)
    const insert = 'INSERT INTO sluice_states_1 (name, value, ends_at, share) VALUES (?, ?, ?, 254)'
    this.ctx.storage.sql.exec(insert, nameOfState(rule, 'full'), encodeCells(cells), cells[0])
  }
}

async function callAll({ rules, store, failure, calls }: CallsTask, env: Env): Promise<readonly CallOutcome[]> {
  const limiter = createLimiter({
    rules: rules.map(makeRule),
    store: durableObjectStore(env.SLUICE, store),
    failure: { timeoutMs: 20_000, ...failure },
  })
  const outcomes = calls.map(async ([method, ...args]): Promise<CallOutcome> => {
    try {
      return { value: await (Reflect.get(limiter, method) as (...args: unknown[]) => unknown).apply(limiter, args) }
    } catch (error) {
      const { code, message } = error as SluiceError
      return { code: error instanceof SluiceError ? code : 'not sorted', message }
    }
  })
  return Promise.all(outcomes)
}

async function askObject({ object, path = '/', method = 'POST', body }: RawTask, env: Env): Promise<unknown> {
  const stub = env.SLUICE.get(env.SLUICE.idFromName(object))
  try {
    const response = await stub.fetch(`https://object${path}`, { method, ...(body !== undefined && { body }) } as never)
    return { status: response.status, text: await response.text() }
  } catch (error) {
    return { thrown: String(error) }
  }
}

function setUp(settings: { now?: number | null; maxKeys?: number; fault?: string | null }): number {
  if (settings.now !== undefined) nowMs = settings.now ?? undefined
  if (settings.maxKeys !== undefined) maxKeys = settings.maxKeys
  if (settings.fault !== undefined) fault = settings.fault ?? undefined
  const seen = messages
  messages = 0
  return seen
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    switch (new URL(request.url).pathname) {
      case '/calls':
        return Response.json(await callAll(await request.json(), env))
      case '/object':
        return Response.json(await askObject(await request.json(), env))
      case '/set-up':
        return Response.json(setUp(await request.json()))
      default:
        return new Response('started')
    }
  },
}
