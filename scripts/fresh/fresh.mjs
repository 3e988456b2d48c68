// `npm run fresh`: the two commands of the README on an unprepared machine. It makes a minimal Debian root with only Node in
// it, clones the repository's HEAD into it twice, and runs `npm start` in one clone and `npm test` in the other.

import { execFile, spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { DebianRoot, removeAbandoned } from './debian-root.mjs'
import { suite } from './outer-machine.mjs'

const MOST_MINUTES = 15
const LINE_TO_PASTE = /^ {2}(curl .*)\n/m

const HELP = `npm run fresh -- [options]

Makes a minimal Debian root with only Node in it, clones HEAD into it, and runs "npm start" and "npm test" there.
Needs root rights, and Debian or Ubuntu outside. The base root is kept in node_modules/.cache for a week.

  --node <version>  the Node of the root, default 24
  --keep            leave the root in place until the next run, and say where it is
  --help            show this text

Ends with 0 if both commands worked within ${MOST_MINUTES} minutes, 1 if not, 2 if it cannot run here.`

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(REPOSITORY, 'node_modules', '.cache', 'sluice-fresh')

/** Programs that this command needs on the machine, and the Debian packages that contain them. */
const NEEDED = { mmdebstrap: 'mmdebstrap', curl: 'curl', git: 'git', tar: 'tar', unshare: 'util-linux', setpriv: 'util-linux' }

const options = readOptions()
const release = suite()
if (process.getuid?.() !== 0) cannotRun('npm run fresh makes a root and mounts in it: run it as root, for example with sudo.')
if (release === undefined || !isThere('apt-get')) cannotRun('npm run fresh needs Debian or Ubuntu, for their packages.')
installMissing()
removeAbandoned()

const root = new DebianRoot()
process.on('exit', () => {
  if (options.keep) console.log(`The root is kept: ${root.path}`)
  else root.remove()
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1))
const deadline = setTimeout(() => {
  steps.push({ name: 'a bound', seconds: MOST_MINUTES * 60, result: `failed: ${MOST_MINUTES} minutes are over`, isGood: false })
  printTable()
  process.exit(1)
}, MOST_MINUTES * 60_000)

/** @type {{ name: string, seconds: number, result: string, isGood: boolean }[]} */
const steps = []
const startMs = Date.now()
if (git('status', '--porcelain') !== '') console.log('Changes that are not committed are not part of this run.')
const isReady = await step(`a minimal ${release} with Node ${options.node}`, async () => {
  const from = await root.fill({ release, node: options.node, cache: CACHE })
  for (const name of ['start', 'test']) git('clone', '--quiet', '--no-hardlinks', REPOSITORY, join(root.path, 'root', name))
  return `${from}, ${git('rev-parse', '--short', 'HEAD')}`
})
if (isReady) {
  await step('npm start', runStart)
  await step('npm test', runTest)
}
clearTimeout(deadline)
printTable()
process.exitCode = steps.every(({ isGood }) => isGood) ? 0 : 1

/**
 * Runs one step and records its result.
 * @param {string} name
 * @param {() => Promise<string>} run returns a short text on the result
 * @returns {Promise<boolean>} true if it worked
 */
async function step(name, run) {
  console.log(`\n── ${name}`)
  const beganMs = Date.now()
  let result
  let isGood = true
  try {
    result = await run()
  } catch (error) {
    isGood = false
    result = `failed: ${/** @type {Error} */ (error).message}`
  }
  const seconds = Math.round((Date.now() - beganMs) / 1000)
  console.log(`── ${name}: ${result} (${seconds} s)`)
  steps.push({ name, seconds, result: result.split('\n')[0], isGood })
  return isGood
}

/** Runs `npm start` until the service answers the command that it printed. */
async function runStart() {
  // The root shares the network of this machine, where the default port may be in use.
  const environment = (await answers(8080)) ? { SLUICE_LISTEN: '127.0.0.1:0' } : {}
  let printed = ''
  let onPrinted = () => {}
  const isPrinted = /** @type {Promise<void>} */ (new Promise((resolve) => (onPrinted = resolve)))
  const onText = (/** @type {string} */ text) => {
    process.stdout.write(text)
    printed += text
    if (LINE_TO_PASTE.test(printed)) onPrinted()
  }
  const started = root.run('/root/start', ['npm', 'start'], { environment, onText })
  try {
    const early = await Promise.race([started.ended, isPrinted])
    if (early !== undefined) throw new Error(`npm start ended with ${early.code}`)
    const line = LINE_TO_PASTE.exec(printed)?.[1]
    const { stdout } = await promisify(execFile)('sh', ['-c', String(line)], { timeout: 30_000 })
    console.log(stdout.trim())
    const { status } = JSON.parse(stdout).meta
    if (status !== 'ok') throw new Error(`the answer's status is ${status}`)
    return 'answered the line that it printed'
  } finally {
    started.kill()
    await started.ended
  }
}

async function runTest() {
  const { code } = await root.run('/root/test', ['npm', 'test'], { onText: (text) => process.stdout.write(text) }).ended
  if (code !== 0) throw new Error(`npm test ended with ${code}`)
  return 'passed'
}

/**
 * @param {number} port
 * @returns {Promise<boolean>} true if somebody listens there
 */
function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

function printTable() {
  const rows = [
    ['step', 'seconds', 'result'],
    ...steps.map(({ name, seconds, result }) => [name, String(seconds), result]),
    ['all', String(Math.round((Date.now() - startMs) / 1000)), steps.every(({ isGood }) => isGood) ? 'passed' : 'failed'],
  ]
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column].length)))
  console.log('')
  for (const [name, seconds, result] of rows) {
    console.log(`${name.padEnd(widths[0])}  ${seconds.padStart(widths[1])}  ${result}`)
  }
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: { node: { type: 'string', default: '24' }, keep: { type: 'boolean', default: false }, help: { type: 'boolean' } },
    })
    if (values.help) {
      console.log(HELP)
      process.exit(0)
    }
    return values
  } catch (error) {
    return cannotRun(`${/** @type {Error} */ (error).message}\n\n${HELP}`)
  }
}

function installMissing() {
  const packages = Object.entries(NEEDED).flatMap(([program, name]) => (isThere(program) ? [] : [name]))
  if (packages.length === 0) return
  console.log(`Installing ${packages.join(', ')} (once) …`)
  for (const args of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', ...packages],
  ]) {
    spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  }
  const missing = Object.keys(NEEDED).filter((program) => !isThere(program))
  if (missing.length > 0) cannotRun(`${missing.join(', ')} cannot be installed: apt-get install ${packages.join(' ')}`)
}

/** @param {string} program */
function isThere(program) {
  return spawnSync('sh', ['-c', 'command -v "$0"', program]).status === 0
}

/**
 * @param {...string} args
 * @returns {string} what it printed
 */
function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', ['-C', REPOSITORY, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  return stdout.trim()
}

/**
 * @param {string} why
 * @returns {never}
 */
function cannotRun(why) {
  console.error(why)
  process.exit(2)
}
