import { expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { SluiceError } from './errors.ts'
import { RetryLines, sharedRetryLines } from './retry-lines.ts'

const refusal = new SluiceError('ERR_STORE_REFUSED', 'busy')
const other = new SluiceError('ERR_STORE_REFUSED', 'busy with something else')

function setUp() {
  const clock = fakeClock()
  const lines = new RetryLines(clock)
  const tried: string[] = []
  const join = (key: string, name: string, delayMs = 10, why = refusal) =>
    lines.join(key, delayMs, why, ({ message }) => tried.push(`${name}: ${message}`))
  return { clock, lines, tried, join }
}

test('calls of a key are tried again together, in their order, after the delay of the first', () => {
  const { clock, lines, tried, join } = setUp()
  join('ada', 'first')
  clock.advance(5)
  join('ada', 'second', 40, other)
  join('bob', 'of another key', 40)
  expect([lines.refusalOf('ada'), lines.refusalOf('eve')]).toEqual([refusal, undefined])
  clock.advance(5)
  expect(tried).toEqual(['first: busy', 'second: busy'])
  expect(lines.refusalOf('ada')).toBeUndefined()
  expect(lines.refusalOf('bob')).toBe(refusal)
})

test('a call that has left is not tried, and a line that all have left is gone, with its timer', () => {
  const { clock, lines, tried, join } = setUp()
  const leaveFirst = join('ada', 'first')
  const leaveSecond = join('ada', 'second')
  leaveFirst()
  expect(lines.refusalOf('ada')).toBe(refusal)
  leaveSecond()
  expect(lines.refusalOf('ada')).toBeUndefined()
  join('ada', 'third', 30)
  // Leaving twice does not take the line of those who came later.
  leaveSecond()
  clock.advance(10)
  expect(tried).toEqual([])
  clock.advance(20)
  expect(tried).toEqual(['third: busy'])
})

test('a call that is refused again opens a new line, and those behind it join that', () => {
  const { clock, lines, tried } = setUp()
  const joinAgain = (name: string, times: number): void => {
    lines.join('ada', 10, refusal, () => {
      tried.push(name)
      if (times > 0) joinAgain(name, times - 1)
    })
  }
  joinAgain('first', 2)
  joinAgain('second', 2)
  clock.advance(30)
  expect(tried).toEqual(['first', 'second', 'first', 'second', 'first', 'second'])
})

test('limiters over one store share the lines', () => {
  const store = { clock: fakeClock() }
  expect(sharedRetryLines(store)).toBe(sharedRetryLines(store))
  expect(sharedRetryLines(store)).not.toBe(sharedRetryLines({ clock: store.clock }))
})
