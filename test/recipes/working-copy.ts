// A copy of the repository in a temporary folder, for tests that follow a recipe of the documents to the letter.
// Invariant: `sluice` and its siblings are the copy's own packages there; all others are this repository's.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const NOT_COPIED = new Set(['node_modules', 'dist', '.git', 'docs', 'sluice-data'])

export class WorkingCopy {
  readonly folder = mkdtempSync(join(tmpdir(), 'sluice-recipe-'))

  constructor() {
    // The repository's own folder may have any name.
    const isCopied = (path: string) => relative(ROOT, path) === '' || !NOT_COPIED.has(basename(path))
    cpSync(ROOT, this.folder, { recursive: true, filter: isCopied })
    const modules = join(this.folder, 'node_modules')
    mkdirSync(modules)
    for (const name of readdirSync(join(ROOT, 'node_modules'))) {
      if (!name.startsWith('.') && !name.startsWith('sluice')) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
    }
    for (const name of readdirSync(join(this.folder, 'packages'))) {
      const manifest = JSON.parse(this.read(`packages/${name}/package.json`))
      symlinkSync(join(this.folder, 'packages', name), join(modules, manifest.name))
    }
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8')
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true })
    writeFileSync(join(this.folder, file), text)
  }

  /** Changes a file; fails if that changes nothing. */
  change(file: string, change: (text: string) => string): void {
    const before = this.read(file)
    const after = change(before)
    if (after === before) throw new Error(`nothing to change in ${file}`)
    this.write(file, after)
  }

  /** Copies a file under another name, with words of it replaced, as one does who copies a sibling. */
  copySibling(from: string, to: string, words: Readonly<Record<string, string>>): void {
    this.write(to, replaceWords(this.read(from), words))
  }

  /** Runs a Node program of the copy to its end; returns what it printed, or throws it. */
  run(...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: this.folder, encoding: 'utf8' })
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}\n${stdout}${stderr}`)
    return stdout
  }

  compile(...args: readonly string[]): void {
    this.run(join(ROOT, 'node_modules/typescript/bin/tsc'), ...args)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function replaceWords(text: string, words: Readonly<Record<string, string>>): string {
  return Object.entries(words).reduce((changed, [from, to]) => changed.replaceAll(from, to), text)
}
