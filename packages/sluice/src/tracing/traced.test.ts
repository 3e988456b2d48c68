import { AsyncLocalStorage } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import { afterEach, expect, test } from 'vitest'
import { concurrency } from '../algorithms/concurrency/concurrency.ts'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { createLimiter } from '../create-limiter.ts'
import { holds } from '../holds/holds.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { failingStore } from '../testing/failing-store.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { waitingLine } from '../waiting/waiting-line.ts'
import { type TracedCall, type TracedMethod, traced } from './traced.ts'

const one = () => fixedWindow({ limit: 1, window: '1m', name: 'requests' })

let unsubscribe = (): void => {}
afterEach(() => unsubscribe())

/** Subscribes to a channel, and returns the events as they come: `start ada`, `end ada allowed`. */
function listen(method: TracedMethod): { readonly events: string[]; readonly messages: TracedCall[] } {
  const events: string[] = []
  const messages: TracedCall[] = []
  const hear = (name: string) => (message: unknown) => {
    const call = message as TracedCall
    messages.push(call)
    const { allowed } = (call.result ?? {}) as { allowed?: boolean }
    const outcome =
      call.error !== undefined ? (call.error as { code: string }).code : { true: 'allowed', false: 'denied' }[String(allowed)]
    events.push([name, call.subject, outcome].filter((word) => word !== undefined).join(' '))
  }
  const channel = tracingChannel<unknown, TracedCall>(`sluice:${method}`)
  const subscribers = {
    start: hear('start'),
    end: hear('end'),
    asyncStart: hear('asyncStart'),
    asyncEnd: hear('asyncEnd'),
    error: hear('error'),
  }
  channel.subscribe(subscribers)
  unsubscribe = () => channel.unsubscribe(subscribers)
  return { events, messages }
}

test('a hit on a synchronous store is published at its start and its end, with its decision', () => {
  const limiter = traced(createLimiter({ rules: one() }), { name: 'api' })
  const { events, messages } = listen('hit')
  expect(limiter.hit('ada').allowed).toBe(true)
  expect(limiter.hit('ada', { cost: 1 }).allowed).toBe(false)
  expect(events).toEqual(['start ada', 'end ada allowed', 'start ada', 'end ada denied'])
  expect(messages[3]).toMatchObject({ method: 'hit', limiter: 'api', rules: ['requests'], options: { cost: 1 } })
})

test('a hit on an asynchronous store is published when it is answered', async () => {
  const limiter = traced(createLimiter({ rules: one(), store: failingStore(fakeClock()) }))
  const { events, messages } = listen('hit')
  await limiter.hit('ada')
  expect(events).toEqual(['start ada', 'end ada', 'asyncStart ada allowed', 'asyncEnd ada allowed'])
  expect(messages[0].limiter).toBe('requests')
})

test('a failed call is published with its error, and fails as before', async () => {
  const store = failingStore(fakeClock())
  store.plan = 'fatal'
  const limiter = traced(createLimiter({ rules: one(), store }))
  const { events } = listen('hit')
  await expect(limiter.hit('ada')).rejects.toMatchObject({ code: 'ERR_STORE_FATAL' })
  expect(events.slice(2)).toEqual(['error ada ERR_STORE_FATAL', 'asyncStart ada ERR_STORE_FATAL', 'asyncEnd ada ERR_STORE_FATAL'])
  events.length = 0
  expect(() => limiter.hit('')).toThrow(expect.objectContaining({ code: 'ERR_KEY' }))
  expect(events).toEqual(['start ', 'error  ERR_KEY', 'end  ERR_KEY'])
})

test('reserve and wait have channels of their own', async () => {
  const limiter = traced(createLimiter({ rules: concurrency({ limit: 1, ttl: '1m' }), holds: holds(), waiting: waitingLine() }))
  const { events } = listen('reserve')
  limiter.reserve('ada').cancel()
  expect(events).toEqual(['start ada', 'end ada allowed'])
  unsubscribe()
  const waiting = listen('wait')
  const plain = traced(createLimiter({ rules: one(), waiting: waitingLine() }))
  await plain.wait('ada')
  expect(waiting.events).toEqual(['start ada', 'end ada', 'asyncStart ada allowed', 'asyncEnd ada allowed'])
})

test('a context that is bound to the start is there while the store is called', () => {
  const spans = new AsyncLocalStorage<string>()
  const channel = tracingChannel<unknown, TracedCall>('sluice:hit')
  channel.start.bindStore(spans, (message) => `span of ${String((message as TracedCall).subject)}`)
  unsubscribe = () => channel.start.unbindStore(spans)
  let seen: string | undefined
  const clock = fakeClock()
  const now = (): number => {
    seen = spans.getStore()
    return clock.now()
  }
  traced(createLimiter({ rules: one(), store: memoryStore({ clock: { ...clock, now } }) })).hit('ada')
  expect(seen).toBe('span of ada')
})

test('without a subscriber the limiter answers as before, and nothing is made', () => {
  const limiter = traced(createLimiter({ rules: one() }))
  expect([limiter.hit('ada').allowed, limiter.hit('ada').allowed, limiter.peek('bob').allowed]).toEqual([true, false, true])
})

test('bad input is refused', () => {
  expect(() => traced({} as never)).toThrow(expect.objectContaining({ code: 'ERR_OPTION', option: 'limiter' }))
  expect(() => traced(createLimiter({ rules: one() }), { name: '' })).toThrow(expect.objectContaining({ option: 'name' }))
  expect(() => traced(createLimiter({ rules: one() }), { nam: 'x' } as never)).toThrow(/nam/)
})
