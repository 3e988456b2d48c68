import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { withKeptTimer } from './kept-timer.ts'
import { checkedClock, systemClock } from './system-clock.ts'

const { after } = withKeptTimer(systemClock)

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test('a clock with timers of its own keeps them', () => {
  const clock = { now: () => 0, after: () => () => {} }
  expect(withKeptTimer(clock)).toBe(clock)
  expect(withKeptTimer(checkedClock({ now: () => 0 })).after).toBe(after)
})

describe('a timer', () => {
  test('calls back once, after its delay', async () => {
    const callback = vi.fn()
    const startedMs = performance.now()
    await new Promise<void>((resolve) => {
      after(30, () => {
        callback()
        resolve()
      })
    })
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(29)
    await wait(40)
    expect(callback).toHaveBeenCalledOnce()
  })

  test('that was cancelled calls nothing, and the next one runs its whole delay', async () => {
    const cancelled = vi.fn()
    after(40, cancelled)()
    await wait(25)
    const callback = vi.fn()
    const startedMs = performance.now()
    after(40, callback)
    await wait(30)
    // The first timer would have ended by now. It has started again.
    expect(callback).not.toHaveBeenCalled()
    await vi.waitFor(() => expect(callback).toHaveBeenCalledOnce())
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(39)
    expect(cancelled).not.toHaveBeenCalled()
  })

  test('that was cancelled twice does not cancel the one after it', async () => {
    const callback = vi.fn()
    const stop = after(10, callback)
    stop()
    after(10, callback)
    stop()
    await vi.waitFor(() => expect(callback).toHaveBeenCalledOnce())
  })

  test('that has called back is not cancelled, and not kept', async () => {
    const callback = vi.fn()
    const stop = after(5, callback)
    await vi.waitFor(() => expect(callback).toHaveBeenCalledOnce())
    stop()
    const next = vi.fn()
    after(5, next)
    await vi.waitFor(() => expect(next).toHaveBeenCalledOnce())
    expect(callback).toHaveBeenCalledOnce()
  })

  test('is not kept by a test runner with timers of its own', () => {
    vi.useFakeTimers()
    after(50, () => {})()
    expect(vi.getTimerCount()).toBe(0)
    const callback = vi.fn()
    after(50, callback)
    vi.advanceTimersByTime(50)
    expect(callback).toHaveBeenCalledOnce()
  })

  test('of a test runner that is cancelled after the runner has put the timers back is not kept', async () => {
    vi.useFakeTimers()
    const stop = after(35, () => {})
    vi.useRealTimers()
    stop()
    const callback = vi.fn()
    after(35, callback)
    await vi.waitFor(() => expect(callback).toHaveBeenCalledOnce())
  })
})

test('a timer that was cancelled does not keep the process alive', async () => {
  const file = new URL('../../dist/engines/kept-timer.js', import.meta.url)
  const clock = new URL('../../dist/engines/system-clock.js', import.meta.url)
  const program = `
    import { withKeptTimer } from '${file}'
    import { systemClock } from '${clock}'
    const { after } = withKeptTimer(systemClock)
    after(600_000, () => {})()
    after(600_000, () => {})()`
  await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { timeout: 20_000 })
})

test('of many timers that are cancelled, one is kept for a delay', () => {
  const cleared = vi.spyOn(globalThis, 'clearTimeout')
  const stops = Array.from({ length: 10 }, () => after(70_000, () => {}))
  for (const stop of stops) stop()
  expect(cleared.mock.calls.length).toBeGreaterThanOrEqual(9)
})
