import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mapFaults, packedFiles, publicPackages } from '../scripts/packed-package.mjs'
import { removeStaleOutputs } from '../scripts/stale-outputs.mjs'

function withFolder(files: Readonly<Record<string, string>>, use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-packages-'))
  try {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(folder, file, '..'), { recursive: true })
      writeFileSync(join(folder, file), text)
    }
    use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe.each(publicPackages().map((folder) => [basename(folder), folder]))('the packed %s', (_, folder) => {
  const files = packedFiles(folder)

  test('leads from every compiled file to its TypeScript source', () => {
    expect(files.filter((file) => file.endsWith('.d.ts.map')).length).toBeGreaterThan(15)
    expect(mapFaults(folder, files)).toEqual([])
  })

  test('has no tests and no notes of the compiler', () => {
    expect(files.filter((file) => /\.test\.|tsbuildinfo/.test(file))).toEqual([])
  })

  test('starts no program of its own when it is installed', () => {
    const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    expect(scripts).toBeUndefined()
  })
})

test('a map that is missing, or that leads out of the package, is found', () => {
  const map = (source: string) => JSON.stringify({ version: 3, sources: [source], mappings: '' })
  const files = {
    'dist/core/a.js': '',
    'dist/core/a.js.map': map('../../src/core/a.ts'),
    'dist/b.d.ts': '',
    'dist/b.d.ts.map': map('../../elsewhere/b.ts'),
    'dist/b.js': '',
    'src/core/a.ts': '',
    'src/b.ts': '',
  }
  withFolder(files, (folder) => {
    expect(mapFaults(folder, Object.keys(files))).toEqual([
      'dist/b.js has no map',
      'dist/b.d.ts.map names ../elsewhere/b.ts, which is not packed',
    ])
  })
})

test('outputs of sources that are gone are removed before a build; the pages stay', () => {
  const kept = ['dist/a.d.ts', 'dist/a.js', 'dist/a.js.map', 'dist/dashboard/page.js', 'dist/.tsbuildinfo']
  const gone = ['dist/old/b.d.ts.map', 'dist/old/b.js']
  withFolder(Object.fromEntries(['src/a.ts', ...kept, ...gone].map((file) => [file, ''])), (folder) => {
    removeStaleOutputs(folder)
    expect(kept.filter((file) => !existsSync(join(folder, file)))).toEqual([])
    expect(readdirSync(join(folder, 'dist', 'old'))).toEqual([])
  })
})
