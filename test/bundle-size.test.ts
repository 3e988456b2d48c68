// The weight of a bundle: what a program carries that imports this much and no more. Sizes are minified and gzipped.

import { expect, test } from 'vitest'
import { BUNDLES, bundleOf, gzipped } from '../scripts/bundle.mjs'

test.each([
  ['a limiter with a fixed window', BUNDLES.limiter, 11_380],
  ['the same behind sluice/fetch', BUNDLES.fetch, 17_600],
])('%s stays below its bytes', async (_, exports, most) => {
  expect(gzipped((await bundleOf(exports)).text)).toBeLessThan(most)
})

test('a limiter carries nothing that it does not use', async () => {
  const files = (await bundleOf(BUNDLES.limiter)).files.join('\n')
  expect(files).toContain('memory-store')
  expect(files).not.toMatch(/notation|nearest|parse-rule|catalogue|facts|dump|waiting-|failure\/|sliding|meter|http\/|redis/)
})

test('sluice/fetch carries no lists of clients, no proxies, no plans, no refunds, no holds, no other framework', async () => {
  const files = (await bundleOf(BUNDLES.fetch)).files.join('\n')
  expect(files).not.toMatch(
    /cidr-list|client-list|client-address|retry-hints|vendor-styles|earlier-styles|raw-headers|node-adapter|fastify|koa|nest|notation|failure\/|waiting-/,
  )
  expect(files).not.toMatch(/middleware\/reserving|middleware\/requests|streams\/|src\/holds\//)
})
