// Reads the import lines of a package's sources. Types count too, also those of JSDoc.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Import {
  readonly file: string
  readonly from: string
}

export interface PackageSources {
  readonly src: string
  readonly files: readonly string[]
  readonly imports: readonly Import[]
  readonly manifest: { readonly [field: string]: Readonly<Record<string, unknown>> | undefined }
}

const SOURCE = /\.(ts|tsx|mjs)$/
const NOT_BUILT = /\.test\.tsx?$|^node_modules/
const FROM = /(?:(?<!['"])\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"\n]+)['"]/g

/** The sources of a package; undefined if there is no such package. */
export function readPackage(name: string): PackageSources | undefined {
  const folder = fileURLToPath(new URL(`../../packages/${name}`, import.meta.url))
  if (!existsSync(folder)) return undefined
  const src = existsSync(join(folder, 'src')) ? join(folder, 'src') : folder
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => SOURCE.test(file) && !NOT_BUILT.test(file))
  const imports = files.flatMap((file) =>
    [...readFileSync(join(src, file), 'utf8').matchAll(FROM)].map(([, from]) => ({ file, from })),
  )
  return { src, files, imports, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }
}

/** Folders of layers: what stands in them is a layer each. */
const FOLDERS_OF_LAYERS = ['backends', 'doors']

/** Files that are layers by themselves, below the rest of their folder. */
const FILES_OF_LAYERS = ['contract/limits.ts', 'contract/error-codes.ts']

/** A layer is a folder, or a file beside the folders. */
export function layerOf(file: string): string {
  if (FILES_OF_LAYERS.includes(file)) return file
  const [first, second] = file.split('/')
  return FOLDERS_OF_LAYERS.includes(first) ? `${first}/${second}` : first
}

/** The layer that an import leads to; `..` if it leads out of the package. */
export function targetLayer({ file, from }: Import): string {
  return layerOf(posix.join(posix.dirname(file), from))
}
