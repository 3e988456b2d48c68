import { expect, test } from 'vitest'
import { seededRandom } from '../testing/random.ts'
import { CallQueue, type QueueBounds } from './call-queue.ts'

interface Named {
  readonly id: number
  readonly names: readonly string[]
  readonly reject: () => void
}

const reject = (): void => {}

/** A queue whose groups end on command. */
function makeQueue(bounds: Partial<QueueBounds> = {}) {
  const groups: { readonly ids: readonly number[]; readonly end: () => Promise<void> }[] = []
  const queue = new CallQueue<Named>({ calls: 4, rows: 10, groups: 2, waiting: 1000, together: 'any', ...bounds }, (group) => {
    return new Promise((resolve) => {
      const end = async (): Promise<void> => {
        resolve()
        await new Promise(setImmediate)
      }
      groups.push({ ids: group.map(({ id }) => id), end })
    })
  })
  const add = (...names: (readonly string[])[]): readonly Named[] =>
    queue.add(names.map((each, id) => ({ id, names: each, reject })))
  return { queue, groups, add }
}

test('calls that are free go together, up to the bound', () => {
  const { groups, add } = makeQueue()
  add(['a'], ['b'], ['a'], ['c'], ['d'])
  expect(groups.map(({ ids }) => ids)).toEqual([[0, 1, 2, 3], [4]])
})

test('a call whose row is under way waits, and so does a later one on any of its rows', async () => {
  const { queue, groups, add } = makeQueue({ groups: 3 })
  queue.add([{ id: 100, names: ['a'], reject }])
  add(['a', 'b'], ['b'], ['c'])
  expect(groups.map(({ ids }) => ids)).toEqual([[100], [2]])
  await groups[0].end()
  expect(groups[2].ids).toEqual([0, 1])
})

test('rows are bounded, and a call with more runs alone', () => {
  const { groups, add } = makeQueue({ rows: 3, groups: 9 })
  add(['a', 'b'], ['b', 'c'], ['d'], ['1', '2', '3', '4', '5'])
  expect(groups.map(({ ids }) => ids)).toEqual([[0, 1], [2], [3]])
})

test('connected calls go together, and strangers by themselves', () => {
  const { groups, add } = makeQueue({ together: 'connected', groups: 9 })
  add(['a'], ['x'], ['a', 'b'], ['b'], ['x'])
  expect(groups.map(({ ids }) => ids)).toEqual([
    [0, 2, 3],
    [1, 4],
  ])
})

test('calls that wait are bounded, and the others are returned', async () => {
  const { groups, add } = makeQueue({ calls: 1, groups: 1, waiting: 3 })
  expect(add(['a'], ['a'], ['a'], ['a']).map(({ id }) => id)).toEqual([3])
  expect(add(['b'], ['b']).map(({ id }) => id)).toEqual([1])
  await groups[0].end()
  expect(add(['c'])).toEqual([])
})

test('idle waits for all that wait', async () => {
  const { queue, groups, add } = makeQueue({ calls: 1, groups: 1 })
  let isIdle = false
  add(['a'], ['a'])
  const idle = queue.idle().then(() => {
    isIdle = true
  })
  await groups[0].end()
  expect(isIdle).toBe(false)
  await groups[1].end()
  await idle
})

test.each(['any', 'connected'] as const)(
  'no row is in two groups, order stays on every row, all calls run: %s',
  async (together) => {
    const random = seededRandom()
    const bounds = { calls: random.whole(1, 8), rows: random.whole(1, 12), groups: random.whole(1, 5), waiting: 2000, together }
    const running = new Set<string>()
    const done = new Map<string, number[]>()
    const expected = new Map<string, number[]>()
    const queue = new CallQueue<Named>(bounds, async (group) => {
      const rows = new Set(group.flatMap(({ names }) => names))
      for (const row of rows) expect(running.has(row), `SEED=${random.seed}`).toBe(false)
      for (const row of rows) running.add(row)
      for (let turns = random.whole(0, 3); turns > 0; turns--) await new Promise(setImmediate)
      for (const { id, names } of group) for (const name of names) done.set(name, [...(done.get(name) ?? []), id])
      for (const row of rows) running.delete(row)
    })
    for (let id = 0; id < 2000; id++) {
      const names = [...new Set(Array.from({ length: random.whole(1, 3) }, () => random.pick([...'abcdefgh'])))]
      for (const name of names) expected.set(name, [...(expected.get(name) ?? []), id])
      queue.add([{ id, names, reject }])
      if (random.whole(0, 9) === 0) await new Promise(setImmediate)
    }
    await queue.idle()
    expect(done, `SEED=${random.seed}`).toEqual(expected)
  },
)

test.each(['any', 'connected'] as const)(
  'however many calls wait for one row, a stranger is not kept waiting: %s',
  async (together) => {
    const { queue, groups } = makeQueue({ together, waiting: 5000 })
    queue.add([{ id: 0, names: ['hot'], reject }])
    queue.add(Array.from({ length: 3000 }, (_, i) => ({ id: i + 1, names: i % 2 === 0 ? ['hot'] : ['hot', 'other'], reject })))
    queue.add([{ id: -1, names: ['other'], reject }])
    queue.add([{ id: -2, names: ['cold'], reject }])
    expect(groups.map(({ ids }) => ids)).toEqual([[0], [-2]])
    await groups[0].end()
    expect(groups[2].ids).toEqual([1, 2, 3, 4])
  },
)
