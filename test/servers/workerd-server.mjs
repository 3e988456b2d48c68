// A real workerd, the runtime of Cloudflare Workers, for tests: one worker, on loopback, stopped by its process id.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
 * Starts a worker.
 * @param {object} worker
 * @param {string} worker.code a module in TypeScript
 * @param {string} worker.folder folder in which its imports are found
 * @param {string} [worker.compatibilityDate]
 */
export async function startWorker({ code, folder, compatibilityDate = '2024-10-14' }) {
  const { outputFiles } = await build({
    stdin: { contents: code, loader: 'ts', resolveDir: folder },
    ...{ bundle: true, format: 'esm', target: 'es2022', write: false, logLevel: 'silent' },
  })
  for (let tries = 1; ; tries++) {
    try {
      return await startModule(outputFiles[0].text, compatibilityDate)
    } catch (error) {
      if (tries === TRIES || !String(error).includes('Address already in use')) throw error
    }
  }
}

/**
 * @param {string} module
 * @param {string} compatibilityDate
 */
async function startModule(module, compatibilityDate) {
  const place = mkdtempSync(join(tmpdir(), 'sluice-workerd-'))
  const port = await freePort()
  writeFileSync(join(place, 'worker.js'), module)
  writeFileSync(
    join(place, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "${compatibilityDate}",
    )),
    # Requests of the worker reach servers on loopback and nothing else.
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`,
  )
  const child = spawn(programOfWorkerd(), ['serve', join(place, 'config.capnp')], { stdio: ['ignore', 'pipe', 'pipe'] })
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
  }
  try {
    await until('workerd', async () => {
      if (child.exitCode !== null) return true
      await fetch(`http://127.0.0.1:${port}/start`)
      return true
    })
    if (child.exitCode !== null) throw new Error('workerd has ended')
  } catch (error) {
    await stop()
    throw new Error(`the worker did not start: ${printed}`, { cause: error })
  }
  return { url: `http://127.0.0.1:${port}`, stop, printed: () => printed }
}
