// The weight of a bundle: what a program carries that imports this much and no more. Sizes are minified and gzipped.

import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, test } from 'vitest'

const SRC = fileURLToPath(new URL('../packages/sluice/src', import.meta.url))

/** Bundles a module that exports the given names. */
async function bundleOf(exports: Readonly<Record<string, string>>) {
  const lines = Object.entries(exports).map(([file, names]) => `export { ${names} } from '${SRC}/${file}'`)
  const { outputFiles, metafile } = await build({
    stdin: { contents: lines.join('\n'), resolveDir: SRC, loader: 'ts' },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    write: false,
    metafile: true,
  })
  const [output] = Object.values(metafile.outputs)
  const files = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
  return { bytes: gzipSync(outputFiles[0].contents, { level: 9 }).length, files: files.map(([file]) => file).join('\n') }
}

const LIMITER = { 'index.ts': 'createLimiter, fixedWindow' }
const FETCH = { ...LIMITER, 'middleware/fetch.ts': 'fetchLimiter' }

test.each([
  ['a limiter with a fixed window', LIMITER, 11_600],
  ['the same behind sluice/fetch', FETCH, 18_340],
])('%s stays below its bytes', async (_, exports, most) => {
  expect((await bundleOf(exports)).bytes).toBeLessThan(most)
})

test('a limiter carries nothing that it does not use', async () => {
  const { files } = await bundleOf(LIMITER)
  expect(files).toContain('memory-store')
  expect(files).not.toMatch(/notation|nearest|parse-rule|catalogue|facts|dump|waiting-|failure\/|sliding|meter|http\/|redis/)
})

test('sluice/fetch carries no lists of clients, no proxies, no holds, no other framework', async () => {
  const { files } = await bundleOf(FETCH)
  expect(files).not.toMatch(
    /cidr-list|client-list|client-address|retry-hints|vendor-styles|earlier-styles|raw-headers|node-adapter|fastify|koa|nest|notation|failure\/|waiting-/,
  )
  expect(files).not.toMatch(/middleware\/reserving|streams\/|src\/holds\//)
})
