import { type FailureReason, SluiceError } from 'sluice'
import { expect, test } from 'vitest'
import { StoreHealth } from './store-health.ts'

const failed = (health: StoreHealth, reason: FailureReason) =>
  health.failed({ reason, error: new SluiceError('ERR_STORE_UNKNOWN', 'failed') })

test.each<FailureReason>(['timeout', 'refused', 'unknown', 'not-asked'])(
  'a store that failed with %s is down until it answers',
  (reason) => {
    const health = new StoreHealth()
    failed(health, reason)
    expect(health).toMatchObject({ isUp: false, isBreakerOpen: reason === 'not-asked' })
    health.answered(0.001)
    expect(health).toMatchObject({ isUp: true, isBreakerOpen: false })
  },
)

test('a single counter that cannot be used is counted, and does not mark the store as down', () => {
  const health = new StoreHealth()
  failed(health, 'fatal')
  expect(health.isUp).toBe(true)
  expect(Object.fromEntries(health.failures)).toEqual({ fatal: 1 })
})
