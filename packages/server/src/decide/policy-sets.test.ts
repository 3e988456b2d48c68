import { failingStore, fakeClock } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { type PolicySpec, readPolicy } from '../policies/policy.ts'
import { PolicyBook } from '../policies/policy-book.ts'
import { Stats } from '../stats/stats.ts'
import { Decider } from './decider.ts'

const facts = { clientId: 'ada', route: '/a', attributes: { org: 'acme' }, cost: 1 }

function onFailingStore(then: 'throw' | 'local', ...specs: PolicySpec[]) {
  const time = fakeClock()
  const store = failingStore(time)
  const book = new PolicyBook(() => time.now())
  const put = (spec: PolicySpec) => book.put(readPolicy(spec, 'api'))
  specs.forEach(put)
  const stats = new Stats(() => time.now())
  const decider = new Decider({ store, failure: { then }, fallbackKeys: 100, mostHolds: 9, policies: book, stats })
  return { time, store, put, decider }
}

describe('a policy that changes while the store is asked', () => {
  const own: PolicySpec = { name: 'own', client: 'ada', rules: '9/minute' }
  const org: PolicySpec = { name: 'org', applies: 'always', per: 'org', rules: '9/minute' }

  test('fails no check: the policies in shadow mode are asked after the enforced ones', async () => {
    const { store, put, decider } = onFailingStore('throw', own, { ...org, mode: 'shadow' })
    store.plan = 'stall'
    const first = decider.check(facts)
    put({ ...own, rules: '8/minute' })
    const second = decider.check(facts)
    store.plan = 'answer'
    store.release()
    expect(await first).toMatchObject({ allowed: true, decision: { limit: 9 } })
    expect(await second).toMatchObject({ allowed: true, decision: { limit: 8, remaining: 6 } })
  })

  test('fails no read of usage', async () => {
    const { store, put, decider } = onFailingStore('throw', own, org)
    store.plan = 'stall'
    const first = decider.usage(facts)
    put({ ...own, rules: '8/minute' })
    const second = decider.usage(facts)
    store.plan = 'answer'
    store.release()
    expect(await first).toMatchObject({ allowed: true, decision: { limit: 9 } })
    expect(await second).toMatchObject({ allowed: true, decision: { limit: 8 } })
  })

  test('leaves a hold of the fallback open, which can be settled', async () => {
    const { store, put, decider } = onFailingStore('local', own, org)
    store.plan = 'lose-call'
    const { hold } = await decider.holds.reserve({ ...facts, hold: 5 })
    expect(hold?.granted).toEqual({ 'rule-1': 5, 'org/rule-1': 5 })
    put({ ...own, rules: '8/minute' })
    await decider.usage(facts)
    expect(await decider.holds.settle(hold as NonNullable<typeof hold>, 2)).toMatchObject({ used: { 'rule-1': 2 } })
  })
})
