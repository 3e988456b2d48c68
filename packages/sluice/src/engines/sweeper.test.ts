import { expect, test } from 'vitest'
import { Sweeper } from './sweeper.ts'

test('sweeps until fewer rows are left than it asked for', async () => {
  const left = [2000, 2000, 7]
  expect(await new Sweeper(async () => left.shift() as number).all()).toBe(4007)
  expect(left).toEqual([])
})

test('a sweep that does not return a number of rows fails, and is not repeated', async () => {
  let sweeps = 0
  const sweeper = new Sweeper(async () => {
    sweeps += 1
    return undefined as never
  })
  await expect(sweeper.all()).rejects.toMatchObject({ code: 'ERR_STORE_FATAL', option: 'sweep' })
  expect(sweeps).toBe(1)
})
