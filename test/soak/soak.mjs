// Entry point of `npm run soak`. Prints its seed, a line of progress, and a table, and sets the exit code:
// 0 success, 1 something was wrong, 2 wrong command line.

import { parseArgs } from 'node:util'
import { FAULTS } from './faults.mjs'
import { minutesAsText, report } from './report.mjs'
import { runSoak } from './run-soak.mjs'
import { FAULT_NAMES } from './schedule.mjs'
import { STORES } from './stores.mjs'

/** @import { Soak } from './soak-context.mjs' */

const MOST_MINUTES = 1440
const LINE_EVERY_MS = 5000

const HELP = `Usage: npm run soak [-- [--store <name>] [--minutes <n>] [--seed <n>] [--only <fault>]...]

Runs two instances of the built service on a real Redis or PostgreSQL, under mixed traffic with attributes and layers, a flood of new clients, policy changes and key
rotations, and injects faults in turn. Every answer is compared with a model of the rules. It fails on a wrong answer,
on an acknowledged change that is lost, and on memory that does not level off.

Options
  --store <name>  ${Object.keys(STORES).join(' or ')}; redis by default
  --minutes <n>   how long, 1 to ${MOST_MINUTES}; 10 by default
  --seed <n>      repeats the schedule of another run
  --only <fault>  no other fault; may be given more than once
  --help          this text

Faults
${FAULT_NAMES.map((name) => `  ${name.padEnd(20)}${FAULTS[name].what}`).join('\n')}

It ends with 0 if all was right, 1 if anything was wrong or it was interrupted, and 2 if it was called wrongly.`

class UsageError extends Error {}

/** @param {string[]} argv */
function readCommandLine(argv) {
  const values = parseStrictly(argv)
  for (const name of values.only ?? []) {
    if (!FAULT_NAMES.some((known) => known === name)) {
      throw new UsageError(`there is no fault '${name}', only: ${FAULT_NAMES.join(', ')}`)
    }
  }
  const { store = 'redis' } = values
  if (!Object.hasOwn(STORES, store)) throw new UsageError(`there is no store '${store}', only: ${Object.keys(STORES).join(', ')}`)
  return {
    store,
    help: values.help ?? false,
    faults: FAULT_NAMES.filter((name) => values.only?.includes(name) ?? true),
    minutes: readNumber('--minutes', values.minutes ?? '10', 1, MOST_MINUTES),
    seed: readNumber('--seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31)), 0, 2 ** 31 - 1),
  }
}

/** @param {string[]} args */
function parseStrictly(args) {
  try {
    const options = /** @type {const} */ ({
      store: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string' },
      only: { type: 'string', multiple: true },
      help: { type: 'boolean' },
    })
    return parseArgs({ args, options }).values
  } catch (error) {
    // The first sentence of the message says what is wrong.
    throw new UsageError(/** @type {Error} */ (error).message.split('. ')[0])
  }
}

/**
 * @param {string} name
 * @param {string} text
 * @param {number} least
 * @param {number} most
 */
function readNumber(name, text, least, most) {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= least && number <= most) return number
  throw new UsageError(`${name} must be a whole number from ${least} to ${most}, got '${text}'`)
}

/** Progress: one line that is redrawn on a terminal, otherwise a line every few seconds. */
function showProgress(stream = process.stderr) {
  let lastMs = Number.NEGATIVE_INFINITY
  return (/** @type {Soak} */ { phases, checks, acknowledged }, /** @type {{ fault: number, faults: number }} */ at) => {
    const wrong = phases.wrong.answer + phases.wrong.change
    const line = `${Math.round(phases.elapsedMs / 1000)} s, fault ${at.fault} of ${at.faults}, ${phases.name}: ${checks} checks, ${acknowledged} changes, ${wrong} wrong`
    if (stream.isTTY) stream.write(`\r\x1b[K${line.slice(0, stream.columns - 1)}`)
    else if (phases.elapsedMs - lastMs >= LINE_EVERY_MS) {
      stream.write(`${line}\n`)
      lastMs = phases.elapsedMs
    }
  }
}

async function main() {
  const request = readCommandLine(process.argv.slice(2))
  if (request.help) return console.log(HELP)
  console.log(`soak of ${minutesAsText(request.minutes)} on ${request.store}, seed ${request.seed}`)
  const stopping = new AbortController()
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(name, () => stopping.abort())
  const outcome = await runSoak({ ...request, onProgress: showProgress(), signal: stopping.signal })
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  const { isPassed, text } = report(outcome, request)
  // A signal of the terminal also reaches the servers, so later answers mean nothing.
  console.log(stopping.signal.aborted ? 'interrupted' : text)
  if (!isPassed || stopping.signal.aborted) process.exitCode = 1
}

main().catch((error) => {
  const isUsage = error instanceof UsageError
  console.error(isUsage ? `soak: ${error.message}; try --help` : error)
  process.exitCode = isUsage ? 2 : 1
})
