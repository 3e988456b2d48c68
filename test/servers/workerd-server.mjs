// A real workerd, the runtime of Cloudflare Workers, for tests: one or several Workers with Durable Objects, on loopback, stopped by its
// process id.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { freePort, until } from './redis-server.mjs'

/** Path of the program. Throws if there is none for this platform. @returns {string} */
function programOfWorkerd() {
  return createRequire(import.meta.url)('workerd').default
}

/** The reason why workerd does not run on this machine. Empty if it runs. */
export function whyNoWorkerd() {
  try {
    const { status, error, stderr } = spawnSync(programOfWorkerd(), ['--version'], { encoding: 'utf8' })
    return status === 0 ? '' : `workerd does not run here: ${error?.message ?? stderr}`
  } catch (error) {
    return `workerd does not run here: ${error}`
  }
}

/** A free port may be taken before workerd listens on it. Then another port is tried. */
const TRIES = 5

/**
 * @typedef {object} WorkerOptions
 * @property {string} code a module in TypeScript
 * @property {string} folder folder in which its imports are found
 * @property {string} [compatibilityDate]
 * @property {Readonly<Record<string, string>>} [objects] classes of Durable Objects that the module exports, by the names of their
 *   bindings
 * @property {boolean} [enableSql] false if the objects have no SQLite storage
 * @property {string} [disk] folder of the objects' storage; by default a new one
 * @property {number} [port] port of the Worker; by default a free one
 * @property {string} [second] a second Worker with the same bindings, as a module in TypeScript
 */

/**
 * Starts a Worker.
 * @param {WorkerOptions} worker
 */
export async function startWorker(worker) {
  const { code, folder, second } = worker
  const modules = { main: await bundle(code, folder), ...(second !== undefined && { second: await bundle(second, folder) }) }
  for (let tries = 1; ; tries++) {
    try {
      return await startModules(modules, worker)
    } catch (error) {
      if (tries === TRIES || !String(error).includes('Address already in use')) throw error
    }
  }
}

/**
 * Returns a module with everything that it imports.
 * @param {string} code
 * @param {string} folder
 */
async function bundle(code, folder) {
  const { outputFiles } = await build({
    stdin: { contents: code, loader: 'ts', resolveDir: folder },
    ...{ bundle: true, format: 'esm', target: 'es2022', write: false, logLevel: 'silent', external: ['cloudflare:*'] },
  })
  return outputFiles[0].text
}

/** Folder in memory, on systems that have one. A commit on a disk takes milliseconds, and objects commit with every message. */
const SHARED_MEMORY = '/dev/shm'

/** Makes a folder for the storage of Durable Objects. It outlives workerd, and its maker removes it. */
export function makeDisk() {
  return mkdtempSync(join(existsSync(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir(), 'sluice-objects-'))
}

/**
 * @param {Readonly<Record<string, string>>} modules modules by the name of their Worker
 * @param {WorkerOptions} options
 */
async function startModules(modules, options) {
  const place = mkdtempSync(join(tmpdir(), 'sluice-workerd-'))
  const disk = options.disk ?? makeDisk()
  /** @type {Record<string, number>} */
  const ports = {}
  for (const [name, module] of Object.entries(modules)) {
    ports[name] = name === 'main' && options.port !== undefined ? options.port : await freePort()
    writeFileSync(join(place, `${name}.js`), module)
  }
  writeFileSync(join(place, 'config.capnp'), configOf(ports, disk, options))
  const args = ['serve', join(place, 'config.capnp')]
  const child = spawn(programOfWorkerd(), args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      printed += text
    })
  }
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    rmSync(place, { recursive: true, force: true })
    if (options.disk === undefined) rmSync(disk, { recursive: true, force: true })
  }
  const urlOf = (/** @type {string} */ name) => `http://127.0.0.1:${ports[name]}`
  try {
    await until('workerd', async () => {
      if (child.exitCode !== null) return true
      for (const name of Object.keys(modules)) await fetch(`${urlOf(name)}/start`)
      return true
    })
    if (child.exitCode !== null) throw new Error('workerd has ended')
  } catch (error) {
    await stop()
    throw new Error(`the worker did not start: ${printed}`, { cause: error })
  }
  return { url: urlOf('main'), secondUrl: urlOf('second'), process: child, stop, printed: () => printed }
}

/**
 * Returns the configuration of workerd. The objects belong to the Worker `main`.
 * @param {Readonly<Record<string, number>>} ports ports by the name of their Worker
 * @param {string} disk
 * @param {WorkerOptions} options
 */
function configOf(ports, disk, { compatibilityDate = '2024-10-14', objects = {}, enableSql = true }) {
  const namespaces = Object.values(objects).map(
    (name) => `(className = "${name}", uniqueKey = "${name}", enableSql = ${enableSql})`,
  )
  const storage = `durableObjectNamespaces = [${namespaces}], durableObjectStorage = (localDisk = "disk"),`
  const workers = Object.keys(ports).map((worker) => {
    const owner = worker === 'main' ? '' : ', serviceName = "main"'
    const bindings = Object.entries(objects).map(
      ([binding, name]) => `(name = "${binding}", durableObjectNamespace = (className = "${name}"${owner}))`,
    )
    return `(name = "${worker}", worker = (
      modules = [(name = "worker", esModule = embed "${worker}.js")],
      compatibilityDate = "${compatibilityDate}",
      bindings = [${bindings}],
      ${worker === 'main' && namespaces.length > 0 ? storage : ''}
    )),`
  })
  const sockets = Object.entries(ports).map(
    ([worker, port]) => `(name = "${worker}", address = "127.0.0.1:${port}", http = (), service = "${worker}")`,
  )
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${workers.join('\n')}
    (name = "disk", disk = (path = ${JSON.stringify(disk)}, writable = true)),
    # Requests of the worker reach servers on loopback and nothing else.
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [${sockets}],
);
`
}
