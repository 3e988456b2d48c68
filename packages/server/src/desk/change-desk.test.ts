import { describe, expect, test } from 'vitest'
import { policyDesk, TESTER, TestAudit } from '../../test/test-desk.ts'
import { ServerError } from '../errors.ts'
import { PolicyKeeper } from '../policies/policy-keeper.ts'
import type { Change, CommitOptions, PlannedChange, Records } from '../records.ts'
import { ChangeDesk, type TracedChange } from './change-desk.ts'

/** Records whose commits are answered by the test, in the order of the steps that are logged. */
class StepRecords implements Records {
  readonly steps: string[] = []
  readonly table = new Map<string, unknown>()
  readonly owed: string[] = []
  /** Errors of the next commits. A commit without one is made. */
  readonly errors: (Error | undefined)[] = []
  commits = 0
  /** Called while a commit is on its way. */
  meanwhile = (): void => {}

  all(): ReadonlyMap<string, unknown> {
    return this.table
  }

  watch(): () => void {
    return () => {}
  }

  owe(change: Change): void {
    this.owed.push(change.id)
  }

  async commit(changes: readonly Change[], { refusal, applied }: CommitOptions = {}): Promise<void> {
    this.commits += 1
    await Promise.resolve()
    this.meanwhile()
    const error = refusal?.() ?? this.errors.shift()
    if (error !== undefined) throw error
    for (const { id, value } of changes) this.table.set(id, value)
    this.steps.push('commit')
    applied?.()
  }

  async close(): Promise<void> {}
}

const conflict = () => new ServerError('ERR_CONFLICT', 'another instance was first')

const change: Change = { kind: 'policy', id: 'a', value: 1 }

function deskOf(audit = new TestAudit()) {
  const records = new StepRecords()
  const desk = new ChangeDesk(records, audit)
  const planned = (more: Partial<PlannedChange<string>> = {}): TracedChange<string> => {
    records.steps.push('validate')
    const apply = () => void records.steps.push('apply')
    return { planned: { changes: [change], result: 'made', apply, ...more }, trace: { action: 'policy.put', target: 'a' } }
  }
  return { records, audit, desk, planned }
}

describe('a change', () => {
  test('is validated, committed, applied and audited, in this order', async () => {
    const { records, audit, desk, planned } = deskOf()
    const done = desk.change(TESTER, planned, { onCommitted: () => records.steps.push(`audited: ${audit.entries.length}`) })
    expect(await done).toBe('made')
    expect(records.steps).toEqual(['validate', 'commit', 'apply', 'audited: 0'])
    expect(audit.entries).toEqual([
      { actor: 'k1', actorName: 'tester', action: 'policy.put', target: 'a', requestId: 'r1', address: '127.0.0.1' },
    ])
  })

  test('that loses against another instance is validated again before it is committed again', async () => {
    const { records, audit, desk, planned } = deskOf()
    records.errors.push(...Array.from({ length: 30 }, conflict))
    await desk.change(TESTER, () => planned())
    expect(records.steps.filter((step) => step === 'validate')).toHaveLength(31)
    expect(records.steps.slice(-3)).toEqual(['validate', 'commit', 'apply'])
    expect(audit.entries).toHaveLength(1)
  })

  test('whose new validation refuses it is not made', async () => {
    const { records, audit, desk, planned } = deskOf()
    records.errors.push(conflict())
    let attempts = 0
    const plan = () => {
      attempts += 1
      if (attempts === 2) throw new ServerError('ERR_POLICY_TAKEN', 'taken meanwhile')
      return planned()
    }
    await expect(desk.change(TESTER, plan)).rejects.toMatchObject({ code: 'ERR_POLICY_TAKEN' })
    expect([records.table.size, audit.entries.length]).toEqual([0, 0])
    expect(await desk.change(TESTER, () => planned())).toBe('made')
  })

  test('that could not be committed is not applied and not audited, and fails the changes that wait behind it', async () => {
    const { records, audit, desk, planned } = deskOf()
    records.errors.push(new ServerError('ERR_DATA_UNKNOWN', 'no answer'))
    const results = await Promise.allSettled([1, 2, 3].map(() => desk.change(TESTER, () => planned())))
    expect(results).toMatchObject([
      { reason: { code: 'ERR_DATA_UNKNOWN' } },
      { reason: { code: 'ERR_DATA_WRITE' } },
      { reason: { code: 'ERR_DATA_WRITE' } },
    ])
    expect([records.commits, records.steps.includes('apply'), audit.entries.length]).toEqual([1, false, 0])
    expect(await desk.change(TESTER, () => planned())).toBe('made')
  })

  test('that is refused right before its commit fails alone', async () => {
    const { desk, planned } = deskOf()
    const refusal = () => new ServerError('ERR_KEY_LAST', 'the last one')
    const results = await Promise.allSettled([
      desk.change(TESTER, () => planned({ refusal })),
      desk.change(TESTER, () => planned()),
    ])
    expect(results).toMatchObject([{ reason: { code: 'ERR_KEY_LAST' } }, { value: 'made' }])
  })

  test('whose failure leaves something owed passes it to the records', async () => {
    const { records, desk, planned } = deskOf()
    records.errors.push(new ServerError('ERR_DATA_WRITE', 'down'))
    const owed = { change, refusal: () => undefined }
    await expect(desk.change(TESTER, () => planned({ failed: () => owed }))).rejects.toMatchObject({ code: 'ERR_DATA_WRITE' })
    expect(records.owed).toEqual(['a'])
  })

  test('that cannot be audited is made, and says so after its result was handed over', async () => {
    const audit = new TestAudit()
    audit.fails = true
    const { records, desk, planned } = deskOf(audit)
    const handed: string[] = []
    const done = desk.change(TESTER, () => planned(), { onCommitted: (result) => handed.push(result) })
    await expect(done).rejects.toMatchObject({ code: 'ERR_AUDIT', message: expect.stringContaining('the disk is full') })
    expect([records.table.get('a'), handed]).toEqual([1, ['made']])
  })
})

test('a policy is in force only after its commit, and the next one is validated against it', async () => {
  const records = new StepRecords()
  const keeper = new PolicyKeeper(records)
  const { put } = policyDesk(records, keeper)
  const spec = (name: string) => ({ name, client: 'acme', rules: '5/minute' })
  const [first, second] = [put(spec('a')), put(spec('b'))]
  expect(keeper.book.get('a')).toBeUndefined()
  await first
  expect(keeper.book.get('a')).toBeDefined()
  await expect(second).rejects.toMatchObject({ code: 'ERR_POLICY_TAKEN' })
})

test('a policy whose name the configuration file takes during the commit is stored, and the policy of the file is in force', async () => {
  const records = new StepRecords()
  const keeper = new PolicyKeeper(records)
  const { put } = policyDesk(records, keeper)
  const { after } = keeper.planPut({ name: 'a', client: 'bolt', rules: '7/minute' }).result
  records.meanwhile = () => keeper.book.replaceFilePolicies([after])
  await put({ name: 'a', client: 'acme', rules: '5/minute' })
  expect([...records.table.keys()]).toEqual(['a'])
  expect(keeper.book.find('bolt', '/').rules[0].limit).toBe(7)
})
