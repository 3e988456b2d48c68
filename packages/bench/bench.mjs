// Entry point of the benches: `npm run bench -- <name> [options]`. A bench is a folder whose module of the same name
// exports `run(options)` and returns a report. This file reads the command line, prints the report and sets the exit
// code: 0 every bar passed, 1 a bar failed or the bench broke, 2 wrong command line.

import { parseArgs } from 'node:util'
import { failedBars } from './report/bars.mjs'
import { reportAsText, writeMarkdownSection } from './report/report.mjs'

/** @import { Report } from './report/report.mjs' */
/** @import { Options } from './rounds/run-bench.mjs' */

/**
 * `rounds` is the default number of rounds: as many as fit into a few minutes.
 * @type {Record<string, { rounds: number, load: () => Promise<{ run(options: Options): Promise<Report> }> }>}
 */
const BENCHES = {
  memory: { rounds: 5, load: () => import('./memory/memory.mjs') },
  redis: { rounds: 5, load: () => import('./redis/redis.mjs') },
  sqlite: { rounds: 5, load: () => import('./sqlite/sqlite.mjs') },
  postgres: { rounds: 5, load: () => import('./postgres/postgres.mjs') },
  mysql: { rounds: 5, load: () => import('./mysql/mysql.mjs') },
  memcached: { rounds: 5, load: () => import('./memcached/memcached.mjs') },
  'durable-object': { rounds: 5, load: () => import('./durable-object/durable-object.mjs') },
  service: { rounds: 5, load: () => import('./service/service.mjs') },
  simulate: { rounds: 5, load: () => import('./simulate/simulate.mjs') },
  http: { rounds: 11, load: () => import('./http/http.mjs') },
}

/** Benches with the option `--only`. */
const WITH_ONLY = ['memory', 'redis', 'service']

const HELP = `npm run bench -- <name> [options]

Benches
  memory             the memory store beside the peers' and a bare Map (about 15 minutes)
  redis              the Redis store beside the peers' and bare INCR, on a server and on a cluster (about 10 minutes)
  sqlite             the SQLite store beside a peer's and a bare statement (about 2 minutes)
  postgres           the Postgres store beside the peer's (about 2 minutes)
  mysql              the MySQL store beside rate-limiter-flexible's, on MariaDB (about 2 minutes)
  memcached          the memcached store beside rate-limiter-flexible's and bare incr (about 2 minutes)
  durable-object     the Durable Object store beside a bare counter, in workerd (about a minute)
  service            checks over HTTP beside a bare node:http server, batches, Redis (about 8 minutes)
  simulate           a replay of a log beside loops that only split it into lines (about 2 minutes)
  http               each framework bare, with fields by hand, behind sluice and behind its own limiter (about 17 minutes)

Options
  --rounds N         interleaved rounds, of which medians are taken (http: 11, others: 5, with --quick: 1)
  --quick            short measurements, to see that all is well (about a minute)
  --full             also what takes long: 10 M keys (memory)
  --only TASK        one task of the memory, the Redis or the service bench, such as flood or RESP, with its bars
  --markdown FILE    write the report into FILE too, in place of this bench's last one there
  --help             this text

It ends with 'N passed, N failed' over the bars, and exits with 1 if one failed.`

class UsageError extends Error {}

/** @param {string[]} argv */
function readCommandLine(argv) {
  const { values, positionals } = parseStrictly(argv)
  const { quick = false, full = false, help = false, markdown, only } = values
  if (help) return { help }
  const bench = readBench(positionals)
  const rounds = values.rounds === undefined ? usualRounds(bench, quick) : readRounds(values.rounds)
  if (only !== undefined && !WITH_ONLY.includes(bench)) throw new UsageError(`--only is for ${WITH_ONLY.join(', ')}`)
  return {
    help,
    bench,
    markdown,
    options: { command: writeCommand(bench, rounds, quick, full, only), rounds, quick, full, only },
  }
}

/** @param {string[]} argv */
function parseStrictly(argv) {
  try {
    return parseArgs({
      args: argv,
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        quick: { type: 'boolean' },
        full: { type: 'boolean' },
        only: { type: 'string' },
        markdown: { type: 'string' },
        help: { type: 'boolean' },
      },
    })
  } catch (error) {
    // The first sentence says what is wrong. The others are about positionals that look like options.
    throw new UsageError(/** @type {Error} */ (error).message.split('. ')[0])
  }
}

/** @param {string[]} positionals */
function readBench([name, ...rest]) {
  const known = Object.keys(BENCHES).join(', ')
  if (name === undefined) throw new UsageError(`name a bench: ${known}`)
  if (!Object.hasOwn(BENCHES, name)) throw new UsageError(`there is no bench '${name}', only: ${known}`)
  if (rest.length > 0) throw new UsageError(`one bench at a time, got also '${rest.join(' ')}'`)
  return name
}

/**
 * @param {string} bench
 * @param {boolean} quick
 */
function usualRounds(bench, quick) {
  return quick ? 1 : BENCHES[bench].rounds
}

/** @param {string} text */
function readRounds(text) {
  const rounds = Number(text)
  if (Number.isInteger(rounds) && rounds >= 1) return rounds
  throw new UsageError(`--rounds takes a whole number of at least 1, got '${text}'`)
}

/**
 * Returns the command that repeats this run.
 * @param {string} bench
 * @param {number} rounds
 * @param {boolean} quick
 * @param {boolean} full
 * @param {string | undefined} only
 */
function writeCommand(bench, rounds, quick, full, only) {
  const task = only === undefined ? '' : ` --only '${only}'`
  return `npm run bench -- ${bench}${quick ? ' --quick' : ''}${full ? ' --full' : ''}${task} --rounds ${rounds}`
}

async function main() {
  const request = readCommandLine(process.argv.slice(2))
  if (request.help) return console.log(HELP)
  const { run } = await BENCHES[request.bench].load()
  const report = await run(request.options)
  if (request.markdown !== undefined) writeMarkdownSection(request.markdown, report)
  console.log(reportAsText(report))
  if (failedBars(report.bars).length > 0) process.exitCode = 1
}

main().catch((error) => {
  const isUsage = error instanceof UsageError
  console.error(isUsage ? `bench: ${error.message}; try --help` : error)
  process.exitCode = isUsage ? 2 : 1
})
