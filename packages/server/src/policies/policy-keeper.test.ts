import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../test/temporary-folder.ts'
import { Journal } from '../backends/folder/journal.ts'
import type { Change, Records } from '../records.ts'
import { PolicyKeeper } from './policy-keeper.ts'

const spec = (name: string, client: string, limit = 5) => ({ name, client, rules: `${limit}/minute` })

describe('policies', () => {
  test('survive a restart, in force and as they were written', async () => {
    const folder = temporaryFolder()
    const journal = await Journal.open(folder)
    const keeper = new PolicyKeeper(journal)
    expect(await keeper.put(spec('a', 'acme'))).toMatchObject({ before: undefined, after: { name: 'a' } })
    expect(await keeper.put(spec('a', 'acme', 9))).toMatchObject({
      before: { spec: { rules: ['5/minute'] } },
      after: { name: 'a' },
    })
    await keeper.put(spec('b', 'bolt'))
    await keeper.put({ name: 'default', rules: '7/minute' })
    expect(await keeper.delete('b')).toMatchObject({ before: { name: 'b' }, after: undefined })
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
    await keeper.put({ name: 'default', rules: '7/minute' })
    expect(await keeper.delete('default')).toMatchObject({ before: { source: 'api' }, after: { source: 'built-in' } })
    await expect(keeper.delete('default')).rejects.toMatchObject({ code: 'ERR_POLICY_BUILT_IN' })
    await journal.close()
  })

  test('with the same patterns are refused, even if they arrive at once', async () => {
    const journal = await Journal.open(temporaryFolder())
    const keeper = new PolicyKeeper(journal)
    const [first, second] = await Promise.allSettled([keeper.put(spec('a', 'acme')), keeper.put(spec('b', 'acme'))])
    expect(first.status).toBe('fulfilled')
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'ERR_POLICY_TAKEN' } })
    expect([...journal.all('policy').keys()]).toEqual(['a'])
    await journal.close()
  })

  test('that are being committed while others fail are in force after their commit, for any number of them', async () => {
    const table = new Map<string, unknown>()
    const answers: ((error?: Error) => void)[] = []
    const records: Records = {
      all: () => table,
      watch: () => () => {},
      close: async () => {},
      commit: ([{ id, value }]) =>
        new Promise((resolve, reject) =>
          answers.push((error) => {
            if (error !== undefined) return reject(error)
            table.set(id, value)
            resolve()
          }),
        ),
    }
    const keeper = new PolicyKeeper(records)
    const lost = ['a', 'b'].map((name) => keeper.put(spec(name, name)).catch(() => 'failed'))
    const [failA, failB] = answers
    failA(new Error('no'))
    await lost[0]
    const first = keeper.put(spec('c', 'c'))
    failB(new Error('no'))
    await lost[1]
    const second = keeper.put(spec('d', 'd'))
    answers[2]()
    await first
    answers[3]()
    await second
    expect(keeper.book.list().policies.map(({ name }) => name)).toEqual(['c', 'd', 'default'])
  })

  test('that are invalid change nothing', async () => {
    const journal = await Journal.open(temporaryFolder())
    const keeper = new PolicyKeeper(journal)
    await expect(keeper.put({ name: 'a', client: 'acme', rules: '5/minut' })).rejects.toMatchObject({ code: 'ERR_INPUT' })
    await expect(keeper.delete('nobody')).rejects.toMatchObject({ code: 'ERR_POLICY_UNKNOWN' })
    expect(keeper.book.size).toBe(1)
    await journal.close()
  })
})

test('a change whose commit failed is not in force, nor are changes based on it; afterwards changes work again', async () => {
  let isOurs = true
  const journal = await Journal.open(temporaryFolder(), { isOurs: async () => isOurs })
  const keeper = new PolicyKeeper(journal)
  await keeper.put(spec('a', 'acme', 1))
  isOurs = false
  const failed = await Promise.allSettled([
    keeper.put(spec('a', 'acme', 2)),
    keeper.put(spec('a', 'acme', 3)),
    keeper.put(spec('b', 'bolt')),
    keeper.delete('a'),
  ])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected'])
  expect(keeper.book.list().policies.map(({ name, rules }) => [name, rules[0].limit])).toEqual([
    ['a', 1],
    ['default', 100],
  ])
  isOurs = true
  await keeper.put(spec('b', 'bolt', 4))
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
