// A public package as npm would publish it: its files, and the sources that their maps name.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGES = fileURLToPath(new URL('../packages', import.meta.url))

/** A file that the compiler made, such as `dist/core/cost.d.ts`. */
const COMPILED = /^dist\/(.*?)(\.d\.ts|\.js)$/

/** @returns {string[]} the folders of the packages that are published */
export function publicPackages() {
  return readdirSync(PACKAGES)
    .map((name) => join(PACKAGES, name))
    .filter((folder) => !JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).private)
}

/**
 * @param {string} folder
 * @returns {string[]} the files that npm would pack, with slashes, from the package's folder on
 */
export function packedFiles(folder) {
  const { status, stdout, stderr } = spawnSync('npm', ['pack', '--dry-run', '--json', '--silent'], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`npm pack failed in ${folder}: ${stderr}`)
  const [{ files }] = /** @type {[{ files: { path: string }[] }]} */ (JSON.parse(stdout))
  return files.map(({ path }) => path)
}

/**
 * Compiled files that are packed without a map, and sources that a packed map names and that are not packed.
 * @param {string} folder
 * @param {readonly string[]} files
 * @returns {string[]} one line for each
 */
export function mapFaults(folder, files) {
  const packed = new Set(files)
  const compiled = files.filter((file) => COMPILED.test(file) && packed.has(file.replace(COMPILED, 'src/$1.ts')))
  const withoutMap = compiled.filter((file) => !packed.has(`${file}.map`)).map((file) => `${file} has no map`)
  const unresolved = files
    .filter((file) => file.endsWith('.map'))
    .flatMap((file) => sourcesOf(folder, file).map((source) => ({ file, source })))
    .filter(({ source }) => !packed.has(source))
    .map(({ file, source }) => `${file} names ${source}, which is not packed`)
  return [...withoutMap, ...unresolved]
}

/**
 * @param {string} folder
 * @param {string} file
 */
function sourcesOf(folder, file) {
  const { sources, sourceRoot = '' } = /** @type {{ sources: string[], sourceRoot?: string }} */ (
    JSON.parse(readFileSync(join(folder, file), 'utf8'))
  )
  return sources.map((source) => posix.join(posix.dirname(file), sourceRoot, source))
}
