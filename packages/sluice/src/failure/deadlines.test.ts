import { describe, expect, test } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { Deadlines } from './deadlines.ts'

function deadlinesOf(delayMs: number) {
  const fake = fakeClock()
  let timers = 0
  const after = (ms: number, callback: () => void) => {
    const cancel = fake.after(ms, () => {
      timers -= 1
      callback()
    })
    let isSet = true
    timers += 1
    return () => {
      if (isSet) timers -= 1
      isSet = false
      cancel()
    }
  }
  const ended: string[] = []
  const deadlines = new Deadlines({ ...fake, after }, delayMs)
  const start = (name: string) => deadlines.start(() => ended.push(name))
  return { clock: fake, deadlines, start, ended, timers: () => timers }
}

const nextTurn = () => new Promise(setImmediate)

describe('deadlines', () => {
  test('come after the delay, in the order in which the calls were made, and not before', async () => {
    const { clock, start, ended } = deadlinesOf(100)
    start('first')
    start('second')
    await nextTurn()
    clock.advance(30)
    start('third')
    clock.advance(69)
    expect(ended).toEqual([])
    clock.advance(1)
    expect(ended).toEqual(['first', 'second'])
    clock.advance(30)
    expect(ended).toEqual(['first', 'second', 'third'])
  })

  test('do not come for who has stopped waiting, also if that happens at the deadline of another', () => {
    const { clock, deadlines, start, ended } = deadlinesOf(100)
    let stopNext = () => {}
    deadlines.start(() => stopNext())
    stopNext = start('stopped by another')
    const stop = start('stopped')
    start('waits')
    stop()
    stop()
    clock.advance(100)
    expect(ended).toEqual(['waits'])
  })

  test('of calls that are made in one go share a timer, which is held only while one of them waits', async () => {
    const { start, timers, ended, clock } = deadlinesOf(100)
    const stops = [start('a'), start('b')]
    await Promise.resolve().then(() => stops.push(start('c')))
    expect(timers()).toBe(2)
    for (const stop of stops) {
      expect(timers()).toBeGreaterThan(0)
      stop()
    }
    expect(timers()).toBe(0)
    clock.advance(1000)
    expect(ended).toEqual([])
  })

  test('do not come because the process itself could not run: a pause counts for a quarter at most', () => {
    const due: (() => void)[] = []
    const after = (_ms: number, callback: () => void) => {
      due.push(callback)
      return () => {}
    }
    const ended: string[] = []
    new Deadlines({ now: () => 0, after }, 100).start(() => ended.push('call'))
    // After a pause of any length, one timer at a time is due.
    for (let fired = 1; fired <= 4; fired++) {
      due.shift()?.()
      expect(due).toHaveLength(1)
    }
    expect(ended).toEqual([])
    due.shift()?.()
    expect(ended).toEqual(['call'])
  })

  test.each([1, 2, 3, 5, 100, 101, 2 ** 31 - 1])('of %i ms come after so many, whatever the slices', (delayMs) => {
    const { clock, start, ended } = deadlinesOf(delayMs)
    start('call')
    clock.advance(delayMs - 1)
    expect(ended).toEqual([])
    clock.advance(1)
    expect(ended).toEqual(['call'])
  })

  test('who joins after all others have stopped waiting still has one', () => {
    const { start, ended, clock } = deadlinesOf(100)
    start('stopped')()
    start('waits')
    clock.advance(100)
    expect(ended).toEqual(['waits'])
  })
})
