// Entry point of `npm run faults`. Runs every fault against live servers, prints a table, and sets the exit code:
// 0 all within their bounds, 1 one was not, 2 wrong command line.

import { parseArgs } from 'node:util'
import { tableAsText } from '../../packages/bench/report/table.mjs'
import { EVERY_FAULT } from './every-fault.mjs'
import { NO_FAILURES } from './target.mjs'

/** @import { Outcome } from './run-fault.mjs' */
/** @import { Run } from './every-fault.mjs' */

const HELP = `npm run faults [-- --only <name>]

Injects faults into live servers and files of every shared store, and checks that every call settles by its deadline, that no
more is admitted than the written bound, that nothing is counted twice or denied without reason, and that the store is in use
again within two seconds; and that the service survives a Redis that loses its policies and keys. About six minutes.

Options
  --only <name>   one fault; may be given more than once
  --help          this text

Faults
${EVERY_FAULT.map(({ name, what }) => `  ${name.padEnd(20)}${what}`).join('\n')}

It ends with 'N passed, N failed' over the rows, and exits with 1 if one failed.`

class UsageError extends Error {}

/** @param {string[]} argv */
function readCommandLine(argv) {
  const { values } = parseStrictly(argv)
  const names = EVERY_FAULT.map(({ name }) => name)
  for (const name of values.only ?? []) {
    if (!names.includes(name)) throw new UsageError(`there is no fault '${name}', only: ${names.join(', ')}`)
  }
  const runs = EVERY_FAULT.filter(({ name }) => values.only?.includes(name) ?? true)
  return { help: values.help ?? false, runs }
}

/** @param {string[]} argv */
function parseStrictly(argv) {
  try {
    return parseArgs({ args: argv, options: { only: { type: 'string', multiple: true }, help: { type: 'boolean' } } })
  } catch (error) {
    // The first sentence of the message says what is wrong.
    throw new UsageError(/** @type {Error} */ (error).message.split('. ')[0])
  }
}

/**
 * Progress: one line that is redrawn on a terminal, otherwise one line per fault.
 * @param {number} total
 */
function showProgress(total, stream = process.stderr) {
  const startMs = performance.now()
  let last = ''
  return (/** @type {number} */ nth, /** @type {Run} */ run, /** @type {string} */ text, isUnusual = false) => {
    const seconds = Math.round((performance.now() - startMs) / 1000)
    const head = `${nth}/${total} (${seconds} s) ${run.name}`
    if (stream.isTTY) stream.write(`\r\x1b[K${`${head}: ${text}`.slice(0, stream.columns - 1)}${isUnusual ? '\n' : ''}`)
    else if (isUnusual || run.name !== last) stream.write(`${head}: ${isUnusual ? text : run.what}\n`)
    last = run.name
  }
}

/** @param {readonly Run[]} runs */
async function runAll(runs) {
  const onStep = showProgress(runs.length)
  /** @type {Outcome[]} */
  const outcomes = []
  for (const [i, run] of runs.entries()) {
    try {
      outcomes.push(...(await run.run((text, isUnusual) => onStep(i + 1, run, text, isUnusual))))
    } catch (error) {
      outcomes.push({ ...NOTHING, fault: run.name, wrong: [String(error)] })
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  return outcomes
}

/** The outcome of a fault that could not be completed. */
const NOTHING = {
  ...{ target: '', hits: 0, allowed: 0, bound: 0, worstMs: 0, recoveryMs: 0, stalledMs: 0 },
  failures: NO_FAILURES,
}

/** @param {readonly Outcome[]} outcomes */
function report(outcomes) {
  const failed = outcomes.filter(({ wrong }) => wrong.length > 0)
  const ms = (/** @type {number} */ number) => number.toFixed(0)
  const table = tableAsText({
    title: 'Faults',
    note: 'allowed and bound: on the keys that can reach their limit; worst: the slowest hit; stall: the most time within 200 ms for which the machine did not run this process or a server',
    columns: ['fault', 'client, then', 'hits', 'allowed', 'bound', 'worst ms', 'recovery ms', 'stall ms', 'result'],
    rows: outcomes.map(({ fault, target, hits, allowed, bound, worstMs, recoveryMs, stalledMs, wrong }) => [
      ...[fault, target, String(hits), String(allowed), String(bound), ms(worstMs), ms(recoveryMs), ms(stalledMs)],
      wrong.length === 0 ? 'pass' : 'FAIL',
    ]),
  })
  const complaints = failed.flatMap(({ fault, target, wrong, failures }) => [
    `${fault} (${target}), counters ${JSON.stringify(failures)}`,
    ...wrong.map((line) => `  ${line}`),
  ])
  return ['', table, ...complaints, `${outcomes.length - failed.length} passed, ${failed.length} failed`].join('\n')
}

async function main() {
  const request = readCommandLine(process.argv.slice(2))
  if (request.help) return console.log(HELP)
  const outcomes = await runAll(request.runs)
  console.log(report(outcomes))
  if (outcomes.some(({ wrong }) => wrong.length > 0)) process.exitCode = 1
}

main().catch((error) => {
  const isUsage = error instanceof UsageError
  console.error(isUsage ? `faults: ${error.message}; try --help` : error)
  process.exitCode = isUsage ? 2 : 1
})
