// `npm run test:drain`: rolling restarts under load, five times. It fails if one request of any run fails or is counted twice.

import { rollingRestarts } from './rolling-restarts.mjs'

const RUNS = 5
const REQUESTS = 50_000
const CONNECTIONS = 40
const LEAST_RESTARTS = 10

const HELP = `Usage: npm run test:drain

Restarts two instances in turn behind nginx, under ${REQUESTS} requests, ${RUNS} times. It takes about two minutes.
It ends with 0 if no request failed and each was counted once, 1 if not, and 2 if it was called wrongly.

  --help   show this`

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
if (args.length > 0) {
  console.error(`cannot read ${args.join(' ')}\n\n${HELP}`)
  process.exit(2)
}

let isGood = true
console.log('run  requests  restarts  failed  counted  seconds')
for (let run = 1; run <= RUNS; run++) {
  const startMs = performance.now()
  const result = await rollingRestarts({ requests: REQUESTS, connections: CONNECTIONS, leastRestarts: LEAST_RESTARTS })
  const { requests, restarts, failures, counted, exitCodes } = result
  const cells = [requests, restarts, failures.length, counted, Math.round((performance.now() - startMs) / 1000)]
  const widths = [8, 8, 6, 7, 7]
  console.log([String(run).padStart(3), ...cells.map((cell, i) => String(cell).padStart(widths[i]))].join('  '))
  if (failures.length > 0) console.log(`     ${[...new Set(failures)].join(', ')}`)
  const isClean = exitCodes.every((code) => code === 0)
  if (!isClean) console.log(`     instances ended with ${exitCodes.join(', ')}`)
  isGood &&= failures.length === 0 && counted === requests && isClean
}
console.log(isGood ? 'passed' : 'failed')
process.exitCode = isGood ? 0 : 1
