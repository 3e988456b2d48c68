import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { policyDesk } from '../../test/test-desk.ts'
import { Journal } from '../backends/folder/journal.ts'
import type { Change, Records } from '../records.ts'
import { PolicyKeeper } from './policy-keeper.ts'

const spec = (name: string, client: string, limit = 5) => ({ name, client, rules: `${limit}/minute` })

describe('policies', () => {
  test('survive a restart, in force and as they were written', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    const keeper = new PolicyKeeper(journal)
    const desk = policyDesk(journal, keeper)
    expect(await desk.put(spec('a', 'acme'))).toMatchObject({ before: undefined, after: { name: 'a' } })
    expect(await desk.put(spec('a', 'acme', 9))).toMatchObject({
      before: { spec: { rules: ['5/minute'] } },
      after: { name: 'a' },
    })
    await desk.put(spec('b', 'bolt'))
    await desk.put({ name: 'default', rules: '7/minute' })
    expect(await desk.delete('b')).toMatchObject({ before: { name: 'b' }, after: undefined })
    await journal.close()

    const again = await Journal.open(folder)
    const { book, unread } = new PolicyKeeper(again)
    expect(unread).toEqual([])
    expect(book.find('acme', '/').rules[0].limit).toBe(9)
    expect(book.find('bolt', '/').rules[0].limit).toBe(7)
    expect(book.size).toBe(2)
    await again.close()
  })

  test('deleting the default restores the built-in one', async () => {
    const journal = await Journal.open(temporaryFolder())
    const keeper = new PolicyKeeper(journal)
    const desk = policyDesk(journal, keeper)
    await desk.put({ name: 'default', rules: '7/minute' })
    expect(await desk.delete('default')).toMatchObject({ before: { source: 'api' }, after: { source: 'built-in' } })
    await expect(desk.delete('default')).rejects.toMatchObject({ code: 'ERR_POLICY_BUILT_IN' })
    await journal.close()
  })

  test('with the same patterns are refused, even if they arrive at once', async () => {
    const journal = await Journal.open(temporaryFolder())
    const keeper = new PolicyKeeper(journal)
    const desk = policyDesk(journal, keeper)
    const [first, second] = await Promise.allSettled([desk.put(spec('a', 'acme')), desk.put(spec('b', 'acme'))])
    expect(first.status).toBe('fulfilled')
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'ERR_POLICY_TAKEN' } })
    expect([...journal.all('policy').keys()]).toEqual(['a'])
    await journal.close()
  })

  test('that are invalid change nothing', async () => {
    const journal = await Journal.open(temporaryFolder())
    const keeper = new PolicyKeeper(journal)
    const desk = policyDesk(journal, keeper)
    await expect(desk.put({ name: 'a', client: 'acme', rules: '5/minut' })).rejects.toMatchObject({ code: 'ERR_INPUT' })
    await expect(desk.delete('nobody')).rejects.toMatchObject({ code: 'ERR_POLICY_UNKNOWN' })
    expect(keeper.book.size).toBe(1)
    await journal.close()
  })
})

test('a change whose commit failed is not in force, nor are changes based on it; afterwards changes work again', async () => {
  let isOurs = true
  const journal = await Journal.open(temporaryFolder(), { isOurs: async () => isOurs })
  const keeper = new PolicyKeeper(journal)
  const desk = policyDesk(journal, keeper)
  await desk.put(spec('a', 'acme', 1))
  isOurs = false
  const failed = await Promise.allSettled([
    desk.put(spec('a', 'acme', 2)),
    desk.put(spec('a', 'acme', 3)),
    desk.put(spec('b', 'bolt')),
    desk.delete('a'),
  ])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
  expect(keeper.book.list().policies.map(({ name, rules }) => [name, rules[0].limit])).toEqual([
    ['a', 1],
    ['default', 100],
  ])
  isOurs = true
  await desk.put(spec('b', 'bolt', 4))
  expect(keeper.book.find('bolt', '/').rules[0].limit).toBe(4)
  await journal.close()
})

test('a policy that cannot be read is left out and reported, and the others are in force', async () => {
  const folder = temporaryFolder()
  const journal = await Journal.open(folder)
  await journal.commit([
    { kind: 'policy', id: 'a', value: spec('a', 'acme') },
    { kind: 'policy', id: 'later', value: { ...spec('later', 'x'), colour: 'blue' } },
  ])
  const { book, unread } = new PolicyKeeper(journal)
  expect(book.get('a')).toBeDefined()
  expect(unread).toMatchObject([{ name: 'later', error: { code: 'ERR_INPUT' } }])
  await journal.close()
})

test('a committed change of another instance is in force here too', async () => {
  const tables = new Map<string, unknown>()
  let tell: (change: Change) => void = () => {}
  const shared: Records = {
    all: () => tables,
    commit: async () => {},
    watch: (listener) => {
      tell = listener
      return () => {
        tell = () => {}
      }
    },
    close: async () => {},
  }
  const hear = (id: string, value: unknown): void => {
    if (value === undefined) tables.delete(id)
    else tables.set(id, value)
    tell({ kind: 'policy', id, value })
  }
  const { book, close } = keeperOf(shared)
  hear('a', spec('a', 'acme', 3))
  expect(book.find('acme', '/').rules[0].limit).toBe(3)
  hear('a', spec('a', 'acme', 4))
  expect(book.find('acme', '/').rules[0].limit).toBe(4)
  hear('b', { nonsense: true })
  expect(book.find('acme', '/').rules[0].limit).toBe(4)
  hear('a', undefined)
  hear('a', undefined)
  tell({ kind: 'key', id: 'a', value: 1 })
  expect(book.size).toBe(1)
  close()
  hear('a', spec('a', 'acme', 3))
  expect(book.size).toBe(1)
})

function keeperOf(records: Records) {
  const keeper = new PolicyKeeper(records)
  return { book: keeper.book, close: () => keeper.close() }
}
