import { expect, test } from 'vitest'
import type { Fleet, Instance } from '../../api/answers.ts'
import { fleetSummary, rateOf } from './fleet-summary.ts'

const instance = (changes: Partial<Instance> = {}) =>
  ({ id: 'a', self: false, version: '1.0.0', state: 'ready', per_second: 2, ...changes }) as Instance

function fleetOf(instances: readonly Instance[], changes: Partial<Fleet> = {}): Fleet {
  const up = instances.filter(({ state }) => state === 'ready').length
  return { instances, up, unreadable: 0, problem: null, ...changes } as Fleet
}

const newer = instance({ version: '1.1.0' })
const gone = instance({ state: 'gone', version: '0.9.0' })

test.each([
  ['one', fleetOf([instance()]), 'good', 'One instance is up'],
  ['two', fleetOf([instance(), instance()]), 'good', '2 instances are up'],
  ['one that has ended in order', fleetOf([instance(), instance({ state: 'stopped' })]), 'good', 'One instance is up'],
  ['two versions', fleetOf([instance(), newer]), 'warn', '2 versions run'],
  ['one of an unknown form', fleetOf([instance()], { unreadable: 1 }), 'warn', '1 instance cannot be read'],
  ['one that is gone', fleetOf([instance(), newer, gone]), 'bad', '1 instance is gone'],
  ['no database', fleetOf([instance()], { problem: 'it does not answer' }), 'bad', 'Other instances are not known now'],
] as const)('the fleet of %s is said', (_name, fleet, tone, title) => {
  expect(fleetSummary(fleet, 'redis')).toMatchObject({ tone, title })
})

test('an instance alone is told why it is alone', () => {
  expect(fleetSummary(fleetOf([instance()]), 'memory').text).toMatch(/^Its store is its own memory/)
  expect(fleetSummary(fleetOf([instance()]), 'postgres').text).toMatch(/^No other instance uses its store/)
})

test('the rate is that of the instances that are up', () => {
  expect(rateOf({ instances: [instance(), instance(), gone] })).toBe(4)
})
