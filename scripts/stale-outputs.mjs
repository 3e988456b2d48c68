// The compiler leaves what it made of a source that is gone. Such a file would be packed and published.

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const OUTPUT = /\.(d\.ts|js)(\.map)?$/

/** Folders of `dist` that the compiler does not write. */
const OF_OTHERS = /^dashboard/

/**
 * Removes the outputs of sources that are gone.
 * @param {string} folder of a package
 */
export function removeStaleOutputs(folder) {
  const dist = join(folder, 'dist')
  if (!existsSync(dist)) return
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!OUTPUT.test(file) || OF_OTHERS.test(file)) continue
    if (!existsSync(join(folder, 'src', file.replace(OUTPUT, '.ts')))) rmSync(join(dist, file))
  }
}
