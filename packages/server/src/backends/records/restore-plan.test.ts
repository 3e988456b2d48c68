import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Change } from '../../records.ts'
import { emptyTables, type Tables } from './found-records.ts'
import { planRestore } from './restore-plan.ts'

const ID = fc.constantFrom('a', 'b', 'c')
const TIME = fc.option(fc.nat(9), { nil: undefined })

const KEY = fc.record({ revokedAt: TIME, expiresAt: TIME, name: fc.nat(9) }).map((record) => JSON.parse(JSON.stringify(record)))
const CHANGE: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('policy' as const), id: ID, value: fc.option(fc.nat(9), { nil: undefined }) }),
  fc.record({ kind: fc.constant('key' as const), id: ID, value: KEY }),
)

function tablesAfter(...lists: readonly (readonly Change[])[]): Tables {
  const tables = emptyTables()
  for (const { kind, id, value } of lists.flat()) {
    if (value === undefined) tables[kind].delete(id)
    else tables[kind].set(id, value)
  }
  return tables
}

test('from any common past: later changes in Redis are kept, the rest is as known, and no revocation or earlier expiry is undone', () => {
  const changes = fc.array(CHANGE, { maxLength: 6 })
  fc.assert(
    fc.property(changes, changes, changes, fc.boolean(), (past, lost, since, isExact) => {
      const [known, found] = [tablesAfter(past, lost), tablesAfter(past, since)]
      const { tables, changes, isExact: said } = planRestore(known, found, isExact ? since : undefined)
      expect(said).toBe(isExact)
      // After it, nothing is left to do.
      expect(tablesAfter([...asChanges(found)], changes)).toEqual(tables)
      if (isExact) {
        const later = new Set(since.filter(({ kind }) => kind === 'policy').map(({ id }) => id))
        for (const id of ['a', 'b', 'c']) {
          expect(tables.policy.get(id)).toEqual((later.has(id) ? found : known).policy.get(id))
        }
      } else {
        for (const id of found.policy.keys()) expect(tables.policy.get(id)).toEqual(found.policy.get(id))
        for (const id of known.policy.keys()) expect(tables.policy.has(id)).toBe(true)
      }
      for (const side of [known, found]) {
        for (const [id, value] of side.key) {
          for (const end of ['revokedAt', 'expiresAt']) {
            const ended = (value as Record<string, number | undefined>)[end]
            const after = (tables.key.get(id) as Record<string, number | undefined>)[end]
            if (ended !== undefined) expect(after).toBeLessThanOrEqual(ended)
          }
        }
      }
    }),
  )
})

function* asChanges(tables: Tables): Generator<Change> {
  for (const kind of ['policy', 'key'] as const) for (const [id, value] of tables[kind]) yield { kind, id, value }
}
