// A bundle with one rule carries neither the facts nor the notation nor another algorithm.

import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { ruleCatalogue } from '../src/algorithms/catalogue.ts'

const src = fileURLToPath(new URL('../src', import.meta.url))

/** Returns the files that a bundle with these exports of `sluice` contains. */
async function bundledFiles(names: string): Promise<readonly string[]> {
  const { metafile } = await build({
    stdin: { contents: `export { ${names} } from './index.ts'`, resolveDir: src },
    bundle: true,
    format: 'esm',
    write: false,
    metafile: true,
  })
  return Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs)
      .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
      .map(([file]) => file.replaceAll('\\', '/').replace(/^.*packages\/sluice\/src\//, '')),
  )
}

test.each(ruleCatalogue)('$call alone', async ({ algorithm, call, translation }) => {
  const folders = [algorithm, translation.file.split('/')[0]].map((name) => `algorithms/${name}/`)
  const isOwn = (file: string) => folders.some((folder) => file.startsWith(folder)) && !file.endsWith('/facts.ts')
  const files = await bundledFiles(`${call}, memoryStore`)
  expect(files).toContain(`algorithms/${algorithm}/${algorithm}.ts`)
  expect(files.filter((file) => file.startsWith('algorithms/') && !isOwn(file))).toEqual([])
  expect(files).not.toContain('core/rule-facts.ts')
})
