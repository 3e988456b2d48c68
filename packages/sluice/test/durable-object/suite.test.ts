// The suite for stores on Durable Objects, in workerd: with all keys in one object, and spread over three.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../test/rounds.ts'
import { startObjectsWorker } from '../../../../test/runtimes/workerd.mjs'
import { whyNoWorkerd } from '../../../../test/servers/workerd-server.mjs'

const whyNot = whyNoWorkerd()

describe(`on workerd${whyNot && `, skipped: ${whyNot}`}`, { skip: whyNot !== '' }, () => {
  let worker: Awaited<ReturnType<typeof startObjectsWorker>>
  beforeAll(async () => {
    worker = await startObjectsWorker()
  })
  afterAll(() => worker?.stop())

  test.each([1, 3])(
    'the suite passes on %i objects',
    async (shards) => {
      const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
      const { passed, failed } = await worker.run({ shards, seed, steps: roundsOf({ usual: 80, long: 2000 }) })
      expect(failed).toEqual([])
      expect(passed).toBeGreaterThan(100)
    },
    300_000,
  )
})
