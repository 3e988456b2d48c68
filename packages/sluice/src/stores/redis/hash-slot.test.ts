import fc from 'fast-check'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { beforeTests, realRedis } from '../../../test/redis/real-redis.ts'
import { runs } from '../../../test/rule-promises.ts'
import { slotOf, tagIn } from './hash-slot.ts'

const server = realRedis('--cluster-enabled', 'yes')
const client = beforeTests(
  async () => new Redis(server.it.port, '127.0.0.1'),
  (redis) => redis.disconnect(),
)

const slotsOnServer = (names: readonly string[]) => Promise.all(names.map((name) => client.it.call('CLUSTER', 'KEYSLOT', name)))

test('a name lies in the slot that a real server says, braces or not', async () => {
  const piece = fc.oneof(fc.constantFrom('{', '}', '{}', '', 'a', '}{'), fc.string({ unit: 'binary' }))
  const name = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(fc.array(name, { maxLength: 50 }), async (names) => {
      expect(names.map(slotOf)).toEqual(await slotsOnServer(names))
    }),
    runs(100),
  )
})

test('there is a tag for every slot, and it lies there', async () => {
  const slots = Array.from({ length: 16_384 }, (_, slot) => slot)
  const tags = slots.map(tagIn)
  expect(tags.filter((tag) => !/^[01]{14}$/.test(tag))).toEqual([])
  expect(await slotsOnServer(tags.map((tag) => `sluice:once:1:{${tag}}:sender`))).toEqual(slots)
})
