// The door of the faults: `npm run faults`. Runs every fault against live servers, prints a table, and sets the exit code:
// 0 all within their bounds, 1 one was not, 2 the command line was wrong.

import { parseArgs } from 'node:util'
import { tableAsText } from '../../packages/bench/report/table.mjs'
import { EVERY_FAULT } from './every-fault.mjs'
import { NO_FAILURES } from './subject.mjs'

/** @import { Outcome } from './run-fault.mjs' */
/** @import { Run } from './every-fault.mjs' */

const HELP = `npm run faults [-- --only <name>]

Does to live Redis servers what happens to them, under load, and checks that every call settles by its deadline, that no
more is admitted than the written bound, that nothing is counted twice or denied without reason, and that the store is in use
again within two seconds; and that the service survives a Redis that loses its policies and keys. About five minutes.

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
    // Its first sentence says what is wrong.
    throw new UsageError(/** @type {Error} */ (error).message.split('. ')[0])
  }
}

/**
 * What one sees meanwhile: a line that redraws itself on a terminal, else a line a fault.
 * @param {number} total
 */
function showProgress(total, stream = process.stderr) {
  const startMs = performance.now()
  let last = ''
  return (/** @type {number} */ nth, /** @type {Run} */ run, /** @type {string} */ text, isNews = false) => {
    const seconds = Math.round((performance.now() - startMs) / 1000)
    const head = `${nth}/${total} (${seconds} s) ${run.name}`
    if (stream.isTTY) stream.write(`\r\x1b[K${`${head}: ${text}`.slice(0, stream.columns - 1)}${isNews ? '\n' : ''}`)
    else if (isNews || run.name !== last) stream.write(`${head}: ${isNews ? text : run.what}\n`)
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
      outcomes.push(...(await run.run((text, isNews) => onStep(i + 1, run, text, isNews))))
    } catch (error) {
      outcomes.push({ ...NOTHING, fault: run.name, wrong: [String(error)] })
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  return outcomes
}

/** What came of a fault that could not be run to its end. */
const NOTHING = {
  ...{ subject: '', hits: 0, allowed: 0, bound: 0, worstMs: 0, recoveryMs: 0, stalledMs: 0 },
  failures: NO_FAILURES,
}

/** @param {readonly Outcome[]} outcomes */
function report(outcomes) {
  const failed = outcomes.filter(({ wrong }) => wrong.length > 0)
  const ms = (/** @type {number} */ number) => number.toFixed(0)
  const table = tableAsText({
    title: 'Faults',
    note: 'allowed and bound: of the keys that can reach their limit; worst: the longest that a hit took; stall: the longest that the machine kept this process waiting',
    columns: ['fault', 'client, then', 'hits', 'allowed', 'bound', 'worst ms', 'recovery ms', 'stall ms', 'verdict'],
    rows: outcomes.map(({ fault, subject, hits, allowed, bound, worstMs, recoveryMs, stalledMs, wrong }) => [
      ...[fault, subject, String(hits), String(allowed), String(bound), ms(worstMs), ms(recoveryMs), ms(stalledMs)],
      wrong.length === 0 ? 'pass' : 'FAIL',
    ]),
  })
  const complaints = failed.flatMap(({ fault, subject, wrong, failures }) => [
    `${fault} (${subject}), counters ${JSON.stringify(failures)}`,
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
