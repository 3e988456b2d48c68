// The built pages, held in memory: a few hundred kilobytes that never change while the service runs.
// What must stay true: only what was found at the start is ever served, so no path can lead out of the folder.

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { gzipSync } from 'node:zlib'

export interface PageFile {
  readonly body: Buffer
  readonly gzipped: Buffer | undefined
  readonly headers: Readonly<Record<string, string>>
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
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

/** Files of the folder by path, such as `assets/index.js`; none if there is no such folder. Files of an unknown kind are left out. */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>()
  for (const path of pathsIn(folder)) {
    const type = TYPES[extname(path)]
    if (type === undefined) continue
    const name = relative(folder, path).split(sep).join('/')
    const body = readFileSync(path)
    // A typeface is compressed by its own format.
    const gzipped = type === TYPES['.woff2'] ? body : gzipSync(body)
    // Names in assets/ carry a hash of what they hold.
    const cache = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
    const headers = { 'content-type': type, 'cache-control': cache, vary: 'accept-encoding', ...SECURITY_HEADERS }
    files.set(name, { body, gzipped: gzipped.length < body.length ? gzipped : undefined, headers })
  }
  return files
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
