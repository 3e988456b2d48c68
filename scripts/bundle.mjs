// The bundles whose size is bounded, and how they are made. Used by test/bundle-size.test.ts and by bundle-shares.mjs.

import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const SRC = fileURLToPath(new URL('../packages/sluice/src', import.meta.url))

const LIMITER = { 'index.ts': 'createLimiter, fixedWindow' }

/**
 * For each bundle, the names that it exports, by file.
 *
 * @type {Readonly<Record<'limiter' | 'fetch', Readonly<Record<string, string>>>>}
 */
export const BUNDLES = {
  limiter: LIMITER,
  fetch: { ...LIMITER, 'middleware/fetch.ts': 'fetchLimiter' },
}

/**
 * Bundles and minifies a module that exports the given names. Returns its text, its source map, and the files that are in it.
 *
 * @param {Readonly<Record<string, string>>} exports
 */
export async function bundleOf(exports) {
  const lines = Object.entries(exports).map(([file, names]) => `export { ${names} } from '${SRC}/${file}'`)
  const { outputFiles, metafile } = await build({
    stdin: { contents: lines.join('\n'), resolveDir: SRC, loader: 'ts' },
    outfile: `${SRC}/bundle.js`,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    sourcemap: 'external',
    write: false,
    metafile: true,
  })
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs))
  const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file)
  const textOf = (/** @type {string} */ end) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  return { text: textOf('.js'), map: textOf('.map'), files }
}

/**
 * Returns the number of bytes after gzip.
 *
 * @param {string} text
 */
export function gzipped(text) {
  return gzipSync(text, { level: 9 }).length
}
