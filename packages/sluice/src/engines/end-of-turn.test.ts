import { afterEach, expect, test, vi } from 'vitest'
import { atEndOfTurn } from './end-of-turn.ts'
import { HandOut } from './hand-out.ts'

afterEach(() => vi.unstubAllGlobals())

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
