// The programs of runtimes that come from npm packages. They are no development dependencies, because each takes about 100 MB.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Packages with an expression that prints the path of the program. */
const PACKAGES = {
  node: ['-p', 'process.execPath'],
  bun: ['-e', 'console.log(process.execPath)'],
  deno: ['eval', 'console.log(Deno.execPath())'],
}

/**
 * Installs a runtime for this run, and returns the path of its program.
 * @param {keyof typeof PACKAGES} name
 * @param {string | number} version
 */
export function programOf(name, version) {
  const args = ['exec', '--yes', `--package=${name}@${version}`, '--', name, ...PACKAGES[name]]
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8', shell: process.platform === 'win32' })
  if (status !== 0) throw new Error(`npm could not provide ${name}@${version}: ${stderr}`)
  return stdout.trim().split('\n').at(-1) ?? ''
}

/**
 * Returns the version that a program prints.
 * @param {string} program
 */
export function versionOf(program) {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? stdout.trim()
}
