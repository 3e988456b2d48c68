// A minimal Debian root with Node in it, and programs that run inside.
// Invariant: mounts live in their own namespace and end with its last process. None is left on this machine, however this
// program ends.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aptDownloads, aptSources, carryIn } from './outer-machine.mjs'

const ROOT_NAME = 'sluice-fresh-'
const OWNER_FILE = 'owner'

/** A base older than this is made again, so that it has Debian's updates. */
const BASE_LASTS_MS = 7 * 24 * 60 * 60 * 1000

/** The npm that comes with Node's current releases. Node's own npm package has no npm in it. */
const NPM = 'npm@11'

/** Gives a command its own mounts and processes. All of them end with this process, even if it is killed. */
const APART = ['--pdeathsig', 'KILL', 'unshare', '--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child=SIGKILL']

/**
 * Process 1 of the namespace. Mounts the usual file systems, runs one command in the root, and collects orphaned processes.
 * Arguments: the root, a folder in it, the command.
 */
const FIRST_PROCESS = `
set -e
root=$1 folder=$2; shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
chroot "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$folder" "$@" &
wait $!
`

export class DebianRoot {
  /** @type {Record<string, string>} */
  #environment = {}
  /** @type {Set<import('node:child_process').ChildProcess>} */
  #running = new Set()
  #folder = mkdtempSync(join(tmpdir(), ROOT_NAME))

  constructor() {
    writeFileSync(join(this.#folder, OWNER_FILE), String(process.pid))
    mkdirSync(this.path)
  }

  get path() {
    return join(this.#folder, 'root')
  }

  /**
   * Fills the root from the cache, if that has the same release, sources and Node, and builds it otherwise.
   * @param {{ release: string, node: string, cache: string }} options
   * @returns {Promise<string>} the origin, as a short text
   */
  async fill({ release, node, cache }) {
    const sources = aptSources(release)
    const parts = [release, node, NPM, aptDownloads(), ...sources.map((file) => readFileSync(file, 'utf8'))]
    const key = createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16)
    const base = join(cache, `${key}.tar`)
    const isCached = existsSync(base) && Date.now() - statSync(base).mtimeMs < BASE_LASTS_MS
    if (!isCached) await this.#makeBase({ release, node, cache, base, sources })
    await this.#outside('tar', '--extract', '--numeric-owner', '--file', base, '--directory', this.path)
    this.#environment = carryIn(this.path)
    return isCached ? 'cached' : 'made'
  }

  /** @param {{ release: string, node: string, cache: string, base: string, sources: readonly string[] }} options */
  async #makeBase({ release, node, cache, base, sources }) {
    mkdirSync(cache, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(cache)) rmSync(join(cache, name), { force: true })
    const work = join(this.#folder, 'base')
    mkdirSync(work)
    const downloads = join(work, 'downloads.conf')
    writeFileSync(downloads, aptDownloads())
    const tar = join(work, 'base.tar')
    const local = join(work, 'usr', 'local')
    const minimal = ['--quiet', '--mode=root', '--variant=minbase', `--aptopt=${downloads}`, release, tar, ...sources]
    await this.#outside('setpriv', ...APART, '--mount-proc', 'env', `TMPDIR=${work}`, 'mmdebstrap', ...minimal)
    await this.#outside('npm', 'install', '--global', '--silent', '--prefix', local, `node@${node}`, NPM)
    await this.#outside('tar', '--append', '--file', tar, '--directory', work, '--owner=0', '--group=0', './usr/local')
    copyWhole(tar, base)
    rmSync(work, { recursive: true, force: true })
  }

  /**
   * Runs a command in the root.
   * @param {string} folder path inside the root
   * @param {readonly string[]} command
   * @param {{ onText?: (text: string) => void, environment?: Record<string, string> }} [options]
   */
  run(folder, command, { onText, environment = {} } = {}) {
    return this.#start('setpriv', [...APART, 'sh', '-c', FIRST_PROCESS, 'sh', this.path, folder, ...command], {
      env: { ...this.#environment, ...environment },
      onText,
    })
  }

  /**
   * Runs a program outside of the root to its end.
   * @param {string} program
   * @param {...string} args
   */
  async #outside(program, ...args) {
    let printed = ''
    const onText = (/** @type {string} */ text) => {
      printed = (printed + text).slice(-4000)
    }
    const { code } = await this.#start(program, args, { env: process.env, onText }).ended
    if (code !== 0) throw new Error(`${program} ended with ${code}\n${printed}`)
  }

  /**
   * @param {string} program
   * @param {readonly string[]} args
   * @param {{ env: NodeJS.ProcessEnv, onText?: ((text: string) => void) | undefined }} options
   */
  #start(program, args, { env, onText = () => {} }) {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#running.add(child)
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', onText)
    const ended = once(child, 'close')
      .catch((error) => {
        throw new Error(`${program} cannot be started: ${error.message}`)
      })
      .then(([code, signal]) => ({ code: code ?? signal }))
      .finally(() => this.#running.delete(child))
    return { ended, kill: () => child.kill('SIGKILL') }
  }

  /** Kills all running commands. */
  kill() {
    for (const child of this.#running) child.kill('SIGKILL')
  }

  /** Kills all running commands and removes the root. */
  remove() {
    this.kill()
    removeFolder(this.#folder)
  }
}

/** Removes the roots of runs that were killed. */
export function removeAbandoned() {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(ROOT_NAME))) {
    const folder = join(tmpdir(), name)
    const owner = Number(existsSync(join(folder, OWNER_FILE)) && readFileSync(join(folder, OWNER_FILE), 'utf8'))
    if (owner > 0 && !isAlive(owner)) removeFolder(folder)
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM'
  }
}

/**
 * Retries, because processes that were just killed may still write.
 * @param {string} folder
 */
function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
}

/**
 * Copies a file atomically. The temporary folder may be on another file system than the cache.
 * @param {string} from
 * @param {string} to
 */
function copyWhole(from, to) {
  const beside = `${to}.${process.pid}`
  cpSync(from, beside)
  renameSync(beside, to)
}
