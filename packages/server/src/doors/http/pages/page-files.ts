// The built files of the dashboard, in memory: a few megabytes that do not change while the service runs. A file is compressed when it is
// first asked for.
// Invariant: only files that were found at the start are served, so no path can lead out of the folder.

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface PageFile {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
  /** Returns the compressed body, or undefined if that is not shorter. */
  gzipped(): Buffer | undefined
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Blocks content of other hosts, inline scripts and styles, and framing. */
const SECURITY_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Returns files by path, such as `assets/index.js`. Returns none if the folder does not exist. Skips files of unknown types. */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const path of pathsIn(folder)) {
    const type = TYPES[extname(path)]
    if (type === undefined) continue
    const name = relative(folder, path).split(sep).join('/')
    const body = readFileSync(path)
    // Names in assets/ contain a hash of the content, so they can be cached forever.
    const cache = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
    const headers = { 'content-type': type, 'cache-control': cache, vary: 'accept-encoding', ...SECURITY_HEADERS }
    // A font file is already compressed.
    files.set(name, { body, headers, gzipped: type === TYPES['.woff2'] ? () => undefined : compressed(body) })
  }
  return files
}

function compressed(body: Buffer): () => Buffer | undefined {
  let zipped: Buffer | undefined
  return () => {
    zipped ??= gzipSync(body)
    return zipped.length < body.length ? zipped : undefined
  }
}

function pathsIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
