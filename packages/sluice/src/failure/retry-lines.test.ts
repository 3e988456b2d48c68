import { expect, test } from 'vitest'
import type { Call } from '../core/call.ts'
import { SluiceError } from '../core/errors.ts'
import { fakeClock } from '../testing/index.ts'
import { RetryLines } from './retry-lines.ts'

const refusal = new SluiceError('ERR_STORE_REFUSED', 'busy')
const other = new SluiceError('ERR_STORE_REFUSED', 'busy with something else')

/** A hit on the given keys. */
const on = (...keys: string[]): Call => ({ operation: 'hit', charges: keys.map((key, rule) => ({ rule, key, amount: 1 })) })

function setUp() {
  const clock = fakeClock()
  const lines = new RetryLines(clock)
  const tried: string[] = []
  const join = (key: string, name: string, delayMs = 10, why = refusal) =>
    lines.join(on(key), delayMs, why, ({ message }) => tried.push(`${name}: ${message}`))
  return { clock, lines, tried, join }
}

test('calls of a key are tried again together, in their order, after the delay of the first', () => {
  const { clock, lines, tried, join } = setUp()
  join('ada', 'first')
  clock.advance(5)
  join('ada', 'second', 40, other)
  join('bob', 'of another key', 40)
  expect([lines.refusalOf(on('ada')), lines.refusalOf(on('eve'))]).toEqual([refusal, undefined])
  clock.advance(5)
  expect(tried).toEqual(['first: busy', 'second: busy'])
  expect(lines.refusalOf(on('ada'))).toBeUndefined()
  expect(lines.refusalOf(on('bob'))).toBe(refusal)
})

test('a call that joins after later ones, because it was refused later, is tried before them', () => {
  const { clock, lines, tried, join } = setUp()
  const [first, second] = [lines.number(), lines.number()]
  const joinAs = (name: string, nth: number) => lines.join(on('ada'), 10, refusal, () => tried.push(name), nth)
  joinAs('first', first)
  join('ada', 'third')
  joinAs('second', second)
  clock.advance(10)
  expect(tried).toEqual(['first', 'second', 'third: busy'])
})

test('a call that has left is not tried, and a line that all have left is gone, with its timer', () => {
  const { clock, lines, tried, join } = setUp()
  const leaveFirst = join('ada', 'first')
  const leaveSecond = join('ada', 'second')
  leaveFirst()
  expect(lines.refusalOf(on('ada'))).toBe(refusal)
  leaveSecond()
  expect(lines.refusalOf(on('ada'))).toBeUndefined()
  join('ada', 'third', 30)
  // Leaving twice does not take the line of those who came later.
  leaveSecond()
  clock.advance(10)
  expect(tried).toEqual([])
  clock.advance(20)
  expect(tried).toEqual(['third: busy'])
})

test('a line whose timer was lost goes on with the next call that joins it', () => {
  const clock = fakeClock()
  let isLost = true
  // A timer of Cloudflare Workers whose request has ended never fires.
  const after: typeof clock.after = (delayMs, callback) => (isLost ? () => {} : clock.after(delayMs, callback))
  const lines = new RetryLines({ ...clock, after })
  const tried: string[] = []
  const join = (name: string) => lines.join(on('ada'), 10, refusal, () => tried.push(name))
  join('first')
  isLost = false
  clock.advance(1010)
  join('second')
  clock.advance(100)
  expect(tried).toEqual([])
  join('third')
  clock.advance(10)
  expect(tried).toEqual(['first', 'second', 'third'])
  expect(lines.refusalOf(on('ada'))).toBeUndefined()
})

test('a call that is refused again opens a new line, and those behind it join that', () => {
  const { clock, lines, tried } = setUp()
  const joinAgain = (name: string, times: number): void => {
    lines.join(on('ada'), 10, refusal, () => {
      tried.push(name)
      if (times > 0) joinAgain(name, times - 1)
    })
  }
  joinAgain('first', 2)
  joinAgain('second', 2)
  clock.advance(30)
  expect(tried).toEqual(['first', 'second', 'first', 'second', 'first', 'second'])
})

test('a call on several keys waits behind the calls of each, and holds up later calls on each', () => {
  const { clock, lines, tried, join } = setUp()
  join('ada', 'ada')
  clock.advance(5)
  join('bob', 'bob', 40, other)
  lines.join(on('ada', 'bob', 'eve'), 40, refusal, () => tried.push('all'))
  join('eve', 'eve')
  clock.advance(5)
  expect(tried).toEqual(['ada: busy', 'bob: busy', 'all', 'eve: busy'])
  clock.advance(100)
  expect(tried.length).toBe(4)
  for (const key of ['ada', 'bob', 'eve']) expect(lines.refusalOf(on(key))).toBeUndefined()
})

test('a call on several keys that leaves a line which it had joined together leaves the others in it', () => {
  const { clock, lines, tried, join } = setUp()
  join('ada', 'ada')
  const leaveBob = join('bob', 'bob')
  const leaveBoth = lines.join(on('ada', 'bob'), 40, refusal, () => tried.push('both'))
  leaveBob()
  leaveBoth()
  expect(lines.refusalOf(on('bob'))).toBe(refusal)
  clock.advance(10)
  expect(tried).toEqual(['ada: busy'])
})
