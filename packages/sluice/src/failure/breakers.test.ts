import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { Breakers } from './breakers.ts'

const AT_ONCE = { timeoutMs: 500, failures: 1, probeEveryMs: 100 }

/** Breakers that open at once, over a store whose keys live where `homes` says. */
function breakers(homes: Record<string, string>) {
  const clock = fakeClock()
  const subject = new Breakers({ clock }, AT_ONCE, (key) => homes[key] ?? key)
  const fail = (key: string) => {
    const breaker = subject.of(key)
    subject.failed(key, breaker, breaker.enter() as number)
  }
  const answer = (key: string) => subject.answered(key, subject.of(key))
  return { clock, subject, fail, answer }
}

test('a part that fails closes none of the others, and an answer of another does not end its failure', () => {
  const { subject, fail, answer } = breakers({ ada: 'north', bob: 'south', eve: 'north' })
  fail('ada')
  expect([subject.of('ada').isOpen, subject.of('eve').isOpen, subject.of('bob').isOpen]).toEqual([true, true, false])
  expect(answer('bob')).toBe(false)
  expect(subject.of('ada').isOpen).toBe(true)
})

test('the first answer of the part that had failed ends the failure, and only the first', () => {
  const { subject, fail, answer } = breakers({ ada: 'north', eve: 'north' })
  expect(answer('ada')).toBe(false)
  fail('ada')
  expect([answer('eve'), answer('ada')]).toEqual([true, false])
  expect(subject.of('ada').isOpen).toBe(false)
})

test('where another part has taken over, its first answer ends the failure', () => {
  const homes: Record<string, string> = { ada: 'north', bob: 'south', eve: 'west' }
  const { subject, fail, answer } = breakers(homes)
  fail('ada')
  homes.ada = 'south'
  expect(subject.of('ada').isOpen).toBe(false)
  expect([answer('eve'), answer('bob'), answer('ada')]).toEqual([false, true, false])
})

test('a store without parts has one breaker', () => {
  const subject = new Breakers({ clock: fakeClock() }, AT_ONCE, undefined)
  expect(subject.of('ada')).toBe(subject.of('bob'))
})

test('however many parts there have been, not all are remembered', () => {
  const { subject, fail } = breakers({})
  fail('first')
  for (let i = 0; i < 1000; i++) subject.of(`part ${i}`)
  expect(subject.of('first').isOpen).toBe(false)
})

test('what one limiter of a store has found out, another that breaks alike knows, and no other', () => {
  const store = { clock: fakeClock() }
  const [one, alike] = [new Breakers(store, AT_ONCE, undefined), new Breakers(store, AT_ONCE, undefined)]
  const others = [
    new Breakers(store, { ...AT_ONCE, timeoutMs: 1 }, undefined),
    new Breakers({ clock: store.clock }, AT_ONCE, undefined),
  ]
  const breaker = one.of('ada')
  one.failed('ada', breaker, breaker.enter() as number)
  expect(alike.of('bob').isOpen).toBe(true)
  expect(others.map((other) => other.of('bob').isOpen)).toEqual([false, false])
})

test('who was turned away hears of the end too, from its own first answer', () => {
  const store = { clock: fakeClock() }
  const [one, other] = [new Breakers(store, AT_ONCE, undefined), new Breakers(store, AT_ONCE, undefined)]
  const breaker = one.of('ada')
  one.failed('ada', breaker, breaker.enter() as number)
  other.turnedAway('bob')
  expect(one.answered('ada', breaker)).toBe(true)
  expect(other.of('bob').isOpen).toBe(false)
  expect([other.answered('bob', breaker), other.answered('bob', breaker)]).toEqual([true, false])
})
