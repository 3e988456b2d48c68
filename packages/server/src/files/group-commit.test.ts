import { expect, test } from 'vitest'
import { GroupCommit } from './group-commit.ts'

/** A writer whose groups end on demand. */
function heldWriter() {
  const groups: { items: readonly number[]; end: () => void; fail: (reason: Error) => void }[] = []
  const commits = new GroupCommit<number>(
    (items) => new Promise((resolve, reject) => groups.push({ items, end: resolve, fail: reject })),
  )
  return { groups, commits }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('items that arrive while a group is written form the next group', async () => {
  const { groups, commits } = heldWriter()
  const first = [commits.add(1), commits.add(2)]
  await turn()
  const second = [commits.add(3), commits.add(4), commits.add(5)]
  await turn()
  expect(groups.map(({ items }) => items)).toEqual([[1, 2]])
  groups[0].end()
  await Promise.all(first)
  await turn()
  expect(groups.map(({ items }) => items)).toEqual([
    [1, 2],
    [3, 4, 5],
  ])
  groups[1].end()
  await Promise.all(second)
})

test('a failed group rejects the items that wait behind it, and no later ones', async () => {
  const { groups, commits } = heldWriter()
  const settled: string[] = []
  const watch = (n: number): Promise<void> =>
    commits.add(n).then(
      () => void settled.push(`${n} written`),
      (reason: Error) => void settled.push(`${n} ${reason.message}`),
    )
  const all = [watch(1)]
  await turn()
  all.push(watch(2))
  groups[0].fail(new Error('full'))
  await Promise.all(all)
  expect(settled).toEqual(['1 full', '2 full'])
  const later = watch(3)
  await turn()
  groups[1].end()
  await later
  expect(settled.at(-1)).toBe('3 written')
})

test('no group has more than a thousand items, and settled waits for all', async () => {
  const sizes: number[] = []
  const commits = new GroupCommit<number>(async (items) => {
    await turn()
    sizes.push(items.length)
  })
  for (let i = 0; i < 2500; i++) commits.add(i)
  await commits.settled()
  expect(sizes).toEqual([1000, 1000, 500])
})
