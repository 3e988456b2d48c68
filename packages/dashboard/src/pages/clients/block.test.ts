import { expect, test } from 'vitest'
import type { Policy } from '../../api/answers.ts'
import { blockAmong, blockOf } from './block.ts'

test('a block denies everything to one client, under a name that is made of it', async () => {
  const choice = { expiresAt: '2027-01-31T08:00:00Z', reason: 'floods', showsReason: true }
  expect(await blockOf('ada', choice)).toEqual({
    name: 'block:ada',
    client: 'ada',
    applies: 'always',
    mode: 'deny',
    expires_at: '2027-01-31T08:00:00Z',
    reason: 'floods',
    show_reason: true,
  })
  const forever = { expiresAt: '', reason: '', showsReason: true }
  expect(await blockOf('bob', forever)).toEqual({ name: 'block:bob', client: 'bob', applies: 'always', mode: 'deny' })
})

test('a block is found by what it does, and not after its end', () => {
  const policy = { name: 'mine', client: 'ada', mode: 'deny', applies: 'always' } as Policy
  expect(blockAmong([policy], 'ada')).toBe(policy)
  const others: Partial<Policy>[] = [
    { client: 'ad*' },
    { mode: 'enforce' },
    { applies: 'most-specific' },
    { where: { a: 'b' } },
    { expired: true },
  ]
  for (const other of others) expect(blockAmong([{ ...policy, ...other }], 'ada')).toBeUndefined()
})
