import { afterEach, describe, expect, test, vi } from 'vitest'
import { fixedWindow } from '../index.ts'
import { atEndOfTurn } from './end-of-turn.ts'
import { HandOut } from './hand-out.ts'
import { scriptedStore } from './scripted.ts'
import { Turn } from './turn.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const RUNTIMES = {
  'a runtime without setImmediate': () => vi.stubGlobal('setImmediate', undefined),
  'Cloudflare Workers with the modules of Node': () => vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' }),
}

test('the end of a turn comes after its microtasks', async () => {
  const said: string[] = []
  const ended = new Promise<void>((resolve) => {
    atEndOfTurn(() => {
      said.push('end')
      resolve()
    })
  })
  for (let i = 0; i < 3; i++) await Promise.resolve()
  said.push('microtasks')
  await ended
  expect(said).toEqual(['microtasks', 'end'])
})

test.each(Object.entries(RUNTIMES))('%s: the callback runs after the code that runs now', async (_, stub) => {
  stub()
  let isCalled = false
  atEndOfTurn(() => {
    isCalled = true
  })
  expect(isCalled).toBe(false)
  await Promise.resolve()
  expect(isCalled).toBe(true)
})

test.each(Object.entries(RUNTIMES))('%s: large replies are handed out at once', (_, stub) => {
  stub()
  const handOut = new HandOut()
  const given: string[] = []
  for (const name of ['a', 'b', 'c']) handOut.add(64, () => given.push(name))
  expect(given).toEqual(['a', 'b', 'c'])
})

// The timers of a test runner are gone when the runner puts the system's back, and callbacks that wait for them are never called.
describe('after a test runner has put the timers back', () => {
  test('items that waited are passed on with the next one', async () => {
    const passed: string[][] = []
    const turn = new Turn<string>((items) => passed.push([...items]))
    vi.useFakeTimers()
    turn.add('a')
    vi.useRealTimers()
    turn.add('b')
    await vi.waitFor(() => expect(passed).toEqual([['a', 'b']]))
  })

  test('replies that waited are handed out with the next one', async () => {
    const handOut = new HandOut()
    const given: string[] = []
    const add = (name: string) => handOut.add(64, () => given.push(name))
    vi.useFakeTimers()
    add('a')
    add('b')
    vi.useRealTimers()
    add('c')
    await vi.waitFor(() => expect(given).toEqual(['a', 'b', 'c']))
  })

  test('calls that waited are sent with the next one', async () => {
    const sent: string[][] = []
    const answers: (() => void)[] = []
    const store = scriptedStore({
      most: 64,
      describe: () => undefined,
      execute(_, calls) {
        sent.push(calls.map(({ charges }) => charges[0].key))
        return new Promise((resolve) => answers.push(() => resolve(calls.map(() => [1, 0, 0]))))
      },
      size: async () => 0,
    })
    const tally = store.tally([fixedWindow({ limit: 5, window: '1m' })])
    const hit = (key: string) => tally.ask({ operation: 'hit', charges: [{ rule: 0, key, amount: 1 }] })
    const first = hit('a')
    await Promise.resolve()
    vi.useFakeTimers()
    // A command is under way, so this call waits for the end of the turn.
    const second = hit('b')
    vi.useRealTimers()
    const third = hit('c')
    await vi.waitFor(() => expect(sent).toEqual([['a'], ['b', 'c']]))
    for (const answer of answers) answer()
    expect(await Promise.all([first, second, third])).toHaveLength(3)
  })
})
