import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { blockName } from '../src/contract/block-name.ts'
import { LIMITS } from '../src/contract/constants.ts'

const hashed = (client: string) => `block:sha256:${createHash('sha256').update(client).digest('hex').slice(0, 32)}`
const longest = LIMITS.longestName - 'block:'.length

test.each(['ada', '.ada:7_-', 'A'.repeat(longest)])('the client %s stands in the name of its block', async (client) => {
  expect(await blockName(client)).toBe(`block:${client}`)
})

test.each(['a b', 'ü', 'ada\n', 'bot-*', 'A'.repeat(longest + 1), 'sha256:1'])(
  'the client %j is named by a hash',
  async (client) => {
    expect(await blockName(client)).toBe(hashed(client))
  },
)
