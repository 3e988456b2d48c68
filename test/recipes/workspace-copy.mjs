// A copy of the sources in a temporary folder, where a test can follow a recipe of CONTRIBUTING.md without touching this one. It
// shares the installed packages, except those of this repository, which are its own.

import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))

const COPIED = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.base.json',
  'README.md',
  'docs',
  'scripts',
  'test/servers',
  'packages',
]

/** Built, installed, or of no use to a build. */
const LEFT_OUT = new Set(['node_modules', 'dist', 'test', 'bench', 'demo'])

export class WorkspaceCopy {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'sluice-recipe-'))
    for (const path of COPIED) {
      const filter = (/** @type {string} */ source) => !LEFT_OUT.has(basename(source)) && !source.endsWith('.test.ts')
      cpSync(join(root, path), join(this.folder, path), { recursive: true, filter })
    }
    this.#shareInstalled('node_modules')
    for (const name of readdirSync(join(this.folder, 'packages'))) {
      const { name: own } = JSON.parse(this.read(`packages/${name}/package.json`))
      this.#link(join(this.folder, 'packages', name), `node_modules/${own}`)
      this.#shareInstalled(`packages/${name}/node_modules`)
    }
  }

  /** @param {string} path */
  read(path) {
    return readFileSync(join(this.folder, path), 'utf8')
  }

  /**
   * @param {string} path
   * @param {string} text
   */
  write(path, text) {
    writeFileSync(join(this.folder, path), text)
  }

  /**
   * Adds a folder of this repository.
   * @param {string} source
   * @param {string} path
   */
  add(source, path) {
    cpSync(source, join(this.folder, path), { recursive: true })
  }

  /**
   * Runs Node in the copy. Rejects with what it printed if it fails.
   * @param {readonly string[]} args
   * @param {Record<string, string>} [env]
   */
  async node(args, env = {}) {
    try {
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        cwd: this.folder,
        env: { ...process.env, NODE_OPTIONS: '', ...env },
        maxBuffer: 2 ** 26,
        timeout: 110_000,
      })
      return stdout
    } catch (error) {
      const { stdout, stderr } = /** @type {{ stdout: string, stderr: string }} */ (error)
      throw new Error(`node ${args.join(' ')} failed:\n${stdout}${stderr}`)
    }
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Links every installed package that is not one of this repository. @param {string} path */
  #shareInstalled(path) {
    if (!existsSync(join(root, path))) return
    for (const entry of readdirSync(join(root, path), { withFileTypes: true })) {
      const isOwn = entry.isSymbolicLink()
      if (!isOwn) this.#link(join(root, path, entry.name), `${path}/${entry.name}`)
    }
  }

  /**
   * @param {string} target
   * @param {string} path
   */
  #link(target, path) {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    symlinkSync(target, join(this.folder, path))
  }
}
