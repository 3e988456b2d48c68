// The built `sluice` command as a real process: on loopback, on a free port, in a temporary folder, stopped by its process id.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../packages/server/dist/cli/main.js', import.meta.url))
const STARTS_WITHIN_MS = 20_000

/**
 * Runs a `sluice` command and waits for its end.
 * @param {readonly string[]} args
 * @param {{ env?: Record<string, string>, input?: string, cwd?: string }} [options]
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
export async function sluice(args, { env = {}, input = '', cwd } = {}) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: cleanEnv(env), cwd })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  child.stdin.on('error', () => {}).end(input)
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

/** One instance. After `stop` or `kill`, `start` uses the same folder. */
export class SluiceService {
  /** @param {{ args?: readonly string[], env?: Record<string, string>, keepsKey?: boolean }} [options] */
  constructor({ args = [], env = {}, keepsKey = true } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), 'sluice-service-'))
    this.dataFolder = join(this.folder, 'data')
    this.keyFile = join(this.folder, 'admin-key')
    this.args = [...(keepsKey ? ['--admin-key-file', this.keyFile] : []), ...args]
    this.env = env
    /** Address of the service, once it has started. */
    this.url = ''
    /** Output of the process since it started. */
    this.stdout = ''
    this.stderr = ''
    /** @type {import('node:child_process').ChildProcess | undefined} */
    this.process = undefined
  }

  /** The admin key of the first start. */
  get key() {
    return readFileSync(this.keyFile, 'utf8').trim()
  }

  async start() {
    const own = ['serve', '--listen', '127.0.0.1:0', '--data-folder', this.dataFolder]
    const child = spawn(process.execPath, [PROGRAM, ...own, ...this.args], {
      env: cleanEnv(this.env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.process = child
    this.stdout = ''
    this.stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      this.stdout += text
    })
    this.url = await new Promise((resolve, reject) => {
      const fail = (/** @type {string} */ why) => reject(new Error(`sluice serve ${why}\n${this.stderr}${this.stdout}`))
      const timer = setTimeout(() => fail(`did not start within ${STARTS_WITHIN_MS} ms`), STARTS_WITHIN_MS)
      child.stderr.setEncoding('utf8').on('data', (text) => {
        this.stderr += text
        const url = /listens at (\S+): /.exec(this.stderr)?.[1]
        if (url !== undefined) resolve(url)
      })
      child.once('close', (code) => fail(`ended with ${code}`))
      child.once('error', (error) => fail(error.message))
      child.once('close', () => clearTimeout(timer))
      child.stderr.once('data', () => clearTimeout(timer))
    })
    return this
  }

  /**
   * Runs a `sluice` command against this service, with its admin key.
   * @param {...string} args
   */
  sluice(...args) {
    return sluice(args, { env: this.clientEnv })
  }

  get clientEnv() {
    return { SLUICE_URL: this.url, SLUICE_API_KEY: this.key }
  }

  /**
   * Calls the HTTP API with the admin key.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {Record<string, string>} [headers]
   */
  async call(method, path, body, headers = {}) {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await fetch(this.url + path, {
      method,
      headers: { 'api-key': this.key, ...type, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }

  /**
   * Sends a signal and waits for the end of the process. Returns its exit code, or null if the signal ended it.
   * @param {NodeJS.Signals} signal
   * @returns {Promise<number | null>}
   */
  async end(signal) {
    const child = this.process
    this.process = undefined
    if (child === undefined) return null
    if (child.exitCode === null && child.signalCode === null) {
      const closed = once(child, 'close')
      child.kill(signal)
      await closed
    }
    return child.exitCode
  }

  /** Stops the process as an operator would. */
  stop() {
    return this.end('SIGTERM')
  }

  /** Kills the process, as a crash would. */
  kill() {
    return this.end('SIGKILL')
  }

  /** Kills the process and removes its folder. */
  async remove() {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** @param {ConstructorParameters<typeof SluiceService>[0]} [options] */
export async function startSluice(options) {
  const service = new SluiceService(options)
  try {
    return await service.start()
  } catch (error) {
    await service.remove()
    throw error
  }
}

/**
 * Environment of this process without variables that configure a service.
 * @param {Record<string, string>} env
 */
function cleanEnv(env) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_') && name !== 'NODE_OPTIONS')
  return { ...Object.fromEntries(own), ...env }
}
