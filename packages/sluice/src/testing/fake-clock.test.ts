import { expect, test } from 'vitest'
import { fakeClock } from './fake-clock.ts'

test('timers fire in order, each at its own time, also those that are set on the way', () => {
  const clock = fakeClock(0)
  const fired: string[] = []
  clock.after(300, () => fired.push(`c ${clock.now()}`))
  clock.after(100, () => {
    fired.push(`a ${clock.now()}`)
    clock.after(100, () => fired.push(`b ${clock.now()}`))
  })
  const cancel = clock.after(150, () => fired.push('cancelled'))
  cancel()
  clock.advance(299)
  expect(fired).toEqual(['a 100', 'b 200'])
  clock.advance(1)
  expect(fired).toEqual(['a 100', 'b 200', 'c 300'])
})

test('setting the clock fires nothing; a timer keeps the delay it had left', () => {
  const clock = fakeClock(1000)
  const fired: number[] = []
  clock.after(100, () => fired.push(clock.now()))
  clock.set(0)
  clock.advance(99)
  expect(fired).toEqual([])
  clock.advance(1)
  expect(fired).toEqual([100])
})
