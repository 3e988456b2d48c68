// Runs the library in every runtime: `npm run test:runtimes`, `-- --only deno,workerd` for some of them. Prints a table.

import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { startRedis } from '../servers/redis-server.mjs'
import { startSluice } from '../servers/sluice-service.mjs'
import { startUpstashFront } from '../servers/upstash-front.mjs'
import { runInChromium } from './browser.mjs'
import { bundlePortable } from './bundle.mjs'
import { askExample, EXAMPLES, expectedOf } from './examples.mjs'
import { runGuide } from './guide-examples.mjs'
import { programOf, versionOf } from './programs.mjs'
import { runInWorkerd, runObjectsInWorkerd } from './workerd.mjs'

/** @import { Outcome } from './collected-tests.ts' */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const HELP = `npm run test:runtimes [-- --only <names>] [-- --steps <number>]

Runs the library in Node 20, 22, 24 and 26, Bun, Deno, workerd and Chromium, and prints a table. Downloads runtimes that npm has not
cached. About five minutes.

Options
  --only <names>     runtimes that begin with one of these names, separated by commas
  --steps <number>   steps of each random walk; default 500
  --help             this text`

const { values } = parseArgs({
  options: { only: { type: 'string' }, steps: { type: 'string', default: '500' }, help: { type: 'boolean' } },
})
if (values.help) {
  console.log(HELP)
  process.exit()
}
const steps = Number(values.steps)
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))

/** Versions of the npm packages, and arguments before a file. */
const SERVERS = {
  'Node 20': { name: /** @type {const} */ ('node'), version: '20', args: [] },
  'Node 22': { name: /** @type {const} */ ('node'), version: '22', args: [] },
  'Node 24': { name: /** @type {const} */ ('node'), version: '24', args: [] },
  'Node 26': { name: /** @type {const} */ ('node'), version: '26', args: [] },
  Bun: { name: /** @type {const} */ ('bun'), version: '1.4.4', args: [] },
  Deno: { name: /** @type {const} */ ('deno'), version: '2.9.6', args: ['run', '--allow-all'] },
}

const RUNTIMES = [...Object.keys(SERVERS), 'workerd', 'Chromium']

/**
 * A part of a runtime's tests: so many passed, and the errors of the others.
 * @typedef {{ runtime: string, version: string, part: string, passed: number, failed: readonly string[] }} Row
 */

/** @type {Row[]} */
const rows = []

/**
 * @param {string} runtime
 * @param {string} version
 * @param {string} part
 * @param {() => Promise<Outcome>} run
 */
async function row(runtime, version, part, run) {
  const { passed, failed } = await run().catch((error) => ({ passed: 0, failed: [String(error?.stack ?? error)] }))
  rows.push({ runtime, version, part, passed, failed })
  console.log(`${runtime} ${version}, ${part}: ${passed} passed, ${failed.length} failed`)
  for (const error of failed) console.error(error)
}

/**
 * Runs a script that prints its outcome in its last line, and that must end by itself.
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<Outcome>}
 */
async function outcomeOf(program, args) {
  // The servers of the tests run in this process, so it must not block.
  const { stdout } = await promisify(execFile)(program, args, { cwd: ROOT, timeout: 120_000, maxBuffer: 2 ** 26 })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {Promise<Outcome>}
 */
async function examplesIn(program, args) {
  const failed = []
  for (const file of Object.keys(EXAMPLES)) {
    try {
      const { statuses } = await askExample(file, program, args)
      if (JSON.stringify(statuses) !== JSON.stringify(expectedOf(file))) failed.push(`${file}: ${JSON.stringify(statuses)}`)
    } catch (error) {
      failed.push(`${file}: ${error}`)
    }
  }
  return { passed: Object.keys(EXAMPLES).length - failed.length, failed }
}

/**
 * Runs the tests of Bun's own Redis client, which print a line with two counts.
 * @param {string} program
 * @returns {Promise<Outcome>}
 */
async function ownTestsOfBun(program) {
  const { stdout } = await promisify(execFile)(program, ['test/bun/bun.mjs'], { cwd: ROOT, timeout: 120_000 })
  const passed = Number(/(\d+) passed, 0 failed/.exec(stdout)?.[1] ?? Number.NaN)
  return passed > 0 ? { passed, failed: [] } : { passed: 0, failed: [stdout] }
}

const only = values.only?.toLowerCase().split(',')
const chosen = RUNTIMES.filter((name) => only?.some((part) => name.toLowerCase().startsWith(part)) ?? true)
const portable = await bundlePortable()
const redis = await startRedis()
const front = await startUpstashFront(redis.port)
const service = await startSluice()
/** @param {string} prefix */
const settingsOf = (prefix) => ({
  ...{ seed, steps },
  upstash: { url: front.url, token: front.token, prefix },
  service: { url: service.url, key: service.key, prefix },
})

console.log(`SEED=${seed}`)
for (const name of chosen) {
  if (name === 'workerd') {
    const { version } = createRequire(import.meta.url)('workerd/package.json')
    await row(name, version, 'portable tests', () => runInWorkerd(portable.file, settingsOf(name)))
    await row(name, version, 'Durable Objects', () => runObjectsInWorkerd({ seed, steps: Math.ceil(steps / 5), shards: 3 }))
  } else if (name === 'Chromium') {
    let version = ''
    const run = async () => {
      const ran = await runInChromium(portable.text, { seed, steps, service: settingsOf(name).service })
      version = ran.version
      return ran.outcome
    }
    const ran = run()
    await ran.catch(() => {})
    await row(name, version, 'portable tests', () => ran)
  } else {
    const { name: packageName, version: wanted, args } = SERVERS[/** @type {keyof typeof SERVERS} */ (name)]
    const program = programOf(packageName, wanted)
    const version = versionOf(program)
    const collected = pathToFileURL(portable.file).href
    const prefix = name.replace(' ', '-')
    const forRedis = JSON.stringify({ seed, steps: Math.ceil(steps / 10), collected, prefix: `${prefix}-ioredis` })
    const script = (/** @type {string} */ file) => fileURLToPath(new URL(file, import.meta.url))
    await row(name, version, 'portable tests', () =>
      outcomeOf(program, [...args, script('run-portable.mjs'), collected, JSON.stringify(settingsOf(prefix))]),
    )
    await row(name, version, 'Redis by ioredis', () =>
      outcomeOf(program, [...args, script('run-redis.mjs'), String(redis.port), forRedis]),
    )
    await row(name, version, 'examples', () => examplesIn(program, args))
    if (name === 'Bun' || name === 'Deno') await row(name, version, 'guide', () => runGuide(name, program))
    if (name === 'Bun') await row(name, version, "Bun's Redis", () => ownTestsOfBun(program))
  }
}

await service.remove()
await front.end()
await redis.stop()
portable.remove()

console.log('\n| runtime  | version       | part             | passed | failed |')
console.log('| -------- | ------------- | ---------------- | ------ | ------ |')
for (const { runtime, version, part, passed, failed } of rows) {
  const [right, wrong] = [passed, failed.length].map((count) => String(count).padStart(6))
  console.log(`| ${runtime.padEnd(8)} | ${version.padEnd(13)} | ${part.padEnd(16)} | ${right} | ${wrong} |`)
}
process.exitCode = rows.length > 0 && rows.every(({ failed }) => failed.length === 0) ? 0 : 1
