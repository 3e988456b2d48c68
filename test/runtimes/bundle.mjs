// The portable tests as one file, for every runtime.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ENTRY = fileURLToPath(new URL('portable/index.ts', import.meta.url))

/** Bundles the portable tests. The bundle imports nothing: an import that is left would be one of a single runtime. */
export async function bundlePortable() {
  const { outputFiles, metafile } = await build({
    entryPoints: [ENTRY],
    ...{ bundle: true, format: 'esm', platform: 'neutral', target: 'es2022', write: false, metafile: true, logLevel: 'silent' },
    mainFields: ['module', 'main'],
  })
  const left = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
  if (left.length > 0) throw new Error(`the portable tests import ${left}`)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-runtimes-'))
  const file = join(folder, 'portable.mjs')
  writeFileSync(file, outputFiles[0].text)
  return { file, text: outputFiles[0].text, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
