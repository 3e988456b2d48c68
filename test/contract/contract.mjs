// Exercises openapi.json with tools of others: `npm run test:contract`, `-- --only python` for one. The tools are installed in a temporary
// folder, from npm and PyPI.

import { execFile, spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, parseArgs, promisify } from 'node:util'
import { startSluice } from '../servers/sluice-service.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OPENAPI = join(ROOT, 'packages/server/openapi.json')
const here = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url))

const TOOLS = { python: 'openapi-python-client==0.29.1', schemathesis: 'schemathesis==4.32.5' }
const OPENAPI_TYPESCRIPT = 'openapi-typescript@7.13.0'

/** Values that the program in Python must see. */
const EXPECTED = {
  added: [201, 'api'],
  policy: ['snake', 'enforce', 10, '1h'],
  first: ['Allow', 10, 6],
  denied: ['Deny', true, true],
  batch: [9, 8],
  hold: [5, 2],
  wrong: [400, 'ERR_INPUT', 'client_id'],
  refused: [401, 'ERR_UNAUTHENTICATED'],
}

const HELP = `npm run test:contract [-- --only <names>] [-- --examples <number>] [-- --seed <number>]

Generates clients from openapi.json and uses them, and sends requests that schemathesis makes up. About three minutes.

Parts
  typescript     types of openapi-typescript, compiled with a program that uses them
  python         a client of openapi-python-client, which makes checks and reads a policy of a running service
  schemathesis   requests to every operation of a running service; test/contract/schemathesis.toml lists what it may not report

Options
  --only <names>        some of these parts, separated by commas
  --examples <number>   requests of each kind that schemathesis makes up for an operation; default 25
  --seed <number>       its seed; default: a random one, which is printed
  --help                this text`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'typescript,python,schemathesis' },
    examples: { type: 'string', default: '25' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  console.log(HELP)
  process.exit()
}

/** A part that could not run, with the reason. */
class Skipped extends Error {}

/** @type {Readonly<Record<string, (folder: string) => Promise<string>>>} */
const PARTS = { typescript, python, schemathesis }

const folder = mkdtempSync(join(tmpdir(), 'sluice-contract-'))
try {
  for (const name of values.only.split(',')) {
    if (!Object.hasOwn(PARTS, name)) throw new Error(`there is no part ${name}: there are ${Object.keys(PARTS).join(', ')}`)
    try {
      console.log(`${name}: ${await PARTS[name](folder)}`)
    } catch (error) {
      if (error instanceof Skipped) console.log(`${name}: SKIPPED: ${error.message}`)
      else {
        console.error(`${name}: FAILED`, error)
        process.exitCode = 1
      }
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** @param {string} folder */
async function typescript(folder) {
  const args = ['exec', '--yes', `--package=${OPENAPI_TYPESCRIPT}`, '--', 'openapi-typescript', OPENAPI]
  await run('npm', [...args, '--output', join(folder, 'openapi.ts')], { cwd: folder })
  copyFileSync(here('typescript-client.ts'), join(folder, 'client.ts'))
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--module', 'nodenext']
  const compiler = [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, '--allowImportingTsExtensions']
  await run(process.execPath, [...compiler, 'client.ts'], { cwd: folder })
  const lines = readFileSync(join(folder, 'openapi.ts'), 'utf8').split('\n').length
  return `${lines} lines of types, and a program that uses them compiles`
}

/** @param {string} folder */
async function python(folder) {
  const bin = await environment(folder, 'python')
  const config = join(folder, 'generator.json')
  writeFileSync(config, JSON.stringify({ post_hooks: [], package_name_override: 'sluice_api' }))
  const output = join(folder, 'generated', 'sluice_api')
  const args = ['generate', '--path', OPENAPI, '--meta', 'none', '--output-path', output, '--config', config, '--fail-on-warning']
  await run(join(bin, 'openapi-python-client'), args)
  const service = await startSluice()
  try {
    const env = { ...process.env, PYTHONPATH: join(folder, 'generated') }
    const { stdout } = await run(join(bin, 'python'), [here('python-client.py'), service.url, service.key], { env })
    const seen = JSON.parse(stdout)
    if (!isDeepStrictEqual(seen, EXPECTED)) throw new Error(`expected ${JSON.stringify(EXPECTED)}, got ${stdout}`)
    return 'the generated client checks, holds, reads a policy, and understands a refusal'
  } finally {
    await service.remove()
  }
}

/** @param {string} folder */
async function schemathesis(folder) {
  const bin = await environment(folder, 'schemathesis')
  const service = await startSluice()
  try {
    // Operations that end a key get this one, so that they do not end the key of the requests.
    const { body } = await service.call('POST', '/v1/keys', { name: 'other', scopes: ['check'] })
    const env = { ...process.env, ...service.clientEnv, SLUICE_OTHER_KEY: body.data.key.id }
    console.log(`schemathesis: seed ${values.seed}`)
    const numbers = ['--max-examples', values.examples, '--seed', values.seed]
    const args = ['--config-file', here('schemathesis.toml'), 'run', `${service.url}/openapi.json`, ...numbers]
    const { stdout } = await run(join(bin, 'schemathesis'), args, { env, cwd: folder })
    const { status, body: alive } = await service.call('GET', '/readyz')
    if (status !== 200) throw new Error(`the service is not ready any more: ${JSON.stringify(alive)}`)
    return /(\d+) generated, \d+ passed/.exec(stdout)?.[0] ?? stdout
  } finally {
    await service.remove()
  }
}

/**
 * Makes a virtual environment with a tool. Returns the folder of its programs.
 * @param {string} folder
 * @param {keyof typeof TOOLS} name
 */
async function environment(folder, name) {
  const path = join(folder, `venv-${name}`)
  const made = spawnSync('python3', ['-m', 'venv', path], { encoding: 'utf8' })
  if (made.status !== 0) throw new Skipped(`python3 -m venv does not work here: ${made.error?.message ?? made.stderr}`)
  const bin = join(path, process.platform === 'win32' ? 'Scripts' : 'bin')
  try {
    await run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', TOOLS[name]])
  } catch (error) {
    // A version that is missing is an error. A registry that cannot be reached is not.
    if (!/NewConnectionError|ConnectTimeout|NameResolutionError|Failed to establish a new connection/.test(String(error)))
      throw error
    throw new Skipped(`PyPI cannot be reached, and ${TOOLS[name]} comes from there`)
  }
  return bin
}

/**
 * Runs a program. The service of the tests runs beside it, so it must not block. Rejects with everything that it printed.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 */
async function run(program, args, options = {}) {
  try {
    return await promisify(execFile)(program, args, { ...options, maxBuffer: 2 ** 28, timeout: 900_000 })
  } catch (error) {
    const { stdout = '', stderr = '', message } = /** @type {Error & { stdout?: string, stderr?: string }} */ (error)
    throw new Error(`${message}\n${stdout}${stderr}`)
  }
}
