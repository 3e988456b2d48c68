// The rule catalogue of a source tree, for scripts that write what is derived from it: read from the sources, so that it needs no build.

import { join } from 'node:path'
import { build } from 'esbuild'

/**
 * @param {string} sources The folder `src` of the library.
 * @returns {Promise<typeof import('sluice/rules')>}
 */
export async function readCatalogue(sources) {
  return importSource(join(sources, 'algorithms', 'index.ts'))
}

/**
 * Imports a module of TypeScript with all that it imports.
 * @param {string} entry
 */
export async function importSource(entry) {
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'esm', write: false })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}
