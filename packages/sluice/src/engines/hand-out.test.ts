import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { HandOut } from './hand-out.ts'

/** A hand-out, and the replies handed out so far. */
function setUp() {
  const handOut = new HandOut()
  const given: string[] = []
  const add = (name: string, answers: number) => handOut.add(answers, () => given.push(name))
  return { given, add }
}

test('small replies are handed out at once, however many', () => {
  const { given, add } = setUp()
  for (const name of ['a', 'b', 'c']) add(name, 31)
  expect(given).toEqual(['a', 'b', 'c'])
})

test('after a large reply the next one waits until new calls could be written', async () => {
  const { given, add } = setUp()
  const written: string[][] = []
  add('a', 64)
  add('b', 64)
  // A client that writes in an immediate.
  setImmediate(() => written.push([...given]))
  await turn()
  await turn()
  await turn()
  expect(written).toEqual([['a']])
  expect(given).toEqual(['a', 'b'])
})

test('replies keep their order: a small one does not overtake a large one that waits', async () => {
  const { given, add } = setUp()
  add('a', 64)
  add('small, before any waits', 1)
  add('b', 64)
  add('small, behind b', 1)
  add('c', 64)
  expect(given).toEqual(['a', 'small, before any waits'])
  while (given.length < 5) await turn()
  expect(given).toEqual(['a', 'small, before any waits', 'b', 'small, behind b', 'c'])
})

test('a large reply that comes alone never waits', async () => {
  const { given, add } = setUp()
  for (let i = 0; i < 3; i++) {
    add('large', 64)
    expect(given).toHaveLength(i + 1)
    await turn()
    await turn()
    await turn()
  }
})

test('replies that have waited for long are handed out together: their deadlines go on', async () => {
  const { given, add } = setUp()
  for (const name of ['a', 'b', 'c', 'd']) add(name, 64)
  const startMs = performance.now()
  while (performance.now() - startMs < 20) {
    // The process is busy.
  }
  while (given.length < 2) await turn()
  expect(given).toEqual(['a', 'b', 'c', 'd'])
})
