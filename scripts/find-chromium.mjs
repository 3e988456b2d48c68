// Finds Chromium for the tests of the pages. SLUICE_CHROMIUM may name another path.

import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/** The path of the browser. Undefined if there is none. */
export function findChromium() {
  const named = process.env.SLUICE_CHROMIUM
  if (named !== undefined) return existsSync(named) ? named : undefined
  const folders = (process.env.PATH ?? '').split(delimiter)
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path))
}
