// A live demonstration: three rules under the same burst, drawn side by side, on the real library with a fake clock.

import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, fixedWindow, memoryStore, slidingLog, tokenBucket } from 'sluice'
import { fakeClock } from 'sluice/testing'

const HELP = `Usage: npm run demo [-- --fast]

Draws three rules of ten a second under the same traffic: a burst at the end of one second and another at the start of
the next, then a steady stream. Each column is 50 ms; each row shows what one rule let through and what it denied.

  --fast   draw at once instead of as it happens
  --help   show this`

const STEP_MS = 50
const SECONDS = 4
const START_MS = 1_763_193_600_000

const args = process.argv.slice(2)
const unknown = args.find((arg) => arg !== '--fast' && arg !== '--help')
if (unknown !== undefined) {
  console.error(`unknown option ${unknown}\n\n${HELP}`)
  process.exit(2)
}
if (args.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
const isLive = process.stdout.isTTY && !args.includes('--fast')
const colour = process.stdout.isTTY && process.env.NO_COLOR === undefined
/**
 * @param {number} code
 * @param {string} text
 */
const paint = (code, text) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text)

const clock = fakeClock(START_MS)
const lanes = Object.entries({
  'fixed window': fixedWindow({ limit: 10, window: '1s', anchor: 'clock' }),
  'sliding log': slidingLog({ limit: 10, window: '1s' }),
  'token bucket': tokenBucket({ capacity: 10, refill: 10, every: '1s' }),
}).map(([name, rule]) => ({
  name,
  limiter: createLimiter({ rules: rule, store: memoryStore({ clock }) }),
  drawn: '',
  allowedAt: /** @type {number[]} */ ([]),
  denied: 0,
}))

/**
 * Number of hits in the 50 ms from `ms` on: two bursts around the first boundary, then a stream of 16 a second.
 * @param {number} ms
 */
function hitsAt(ms) {
  if (ms >= 900 && ms < 1000) return 5
  if (ms >= 1000 && ms < 1100) return 5
  if (ms >= 2000) return ms % 250 === 0 ? 4 : 0
  return 0
}

console.log(
  `Ten a second, three ways, the same hits for each. ${paint(32, '█')} allowed  ${paint(31, '░')} denied  │ a new second\n`,
)
const traffic = { drawn: '', hits: 0 }
let isDrawn = false
for (let ms = 0; ms < SECONDS * 1000; ms += STEP_MS) {
  clock.set(START_MS + ms)
  const hits = hitsAt(ms)
  const edge = ms > 0 && ms % 1000 === 0 ? '│' : ''
  traffic.hits += hits
  traffic.drawn += edge + (hits === 0 ? '·' : String(hits))
  for (const lane of lanes) {
    let allowed = 0
    for (let i = 0; i < hits; i++) {
      if (lane.limiter.hit('demo').allowed) {
        allowed += 1
        lane.allowedAt.push(ms)
      }
    }
    lane.denied += hits - allowed
    lane.drawn += edge + (hits === 0 ? '·' : allowed === hits ? paint(32, '█') : allowed > 0 ? paint(33, '▒') : paint(31, '░'))
  }
  if (isLive) {
    draw()
    await sleep(STEP_MS)
  }
}
draw()
console.log(`
The fixed window starts anew on the second, so it let both bursts through. The sliding log remembers the last 1,000 ms to the
millisecond. The token bucket had a burst of ten saved up, and then lets tokens go as they come back, ten a second.
Three lines of your own: see README.md. Everything else: docs/README.md.`)

function draw() {
  if (isDrawn && isLive) process.stdout.write(`\u001b[${lanes.length + 1}A`)
  isDrawn = true
  const toLineEnd = isLive ? '\u001b[K' : ''
  console.log(`${'hits'.padEnd(14)}${traffic.drawn}  ${traffic.hits} hits${toLineEnd}`)
  for (const { name, drawn, allowedAt, denied } of lanes) {
    const figures = `${allowedAt.length} allowed, ${denied} denied, at most ${mostInOneSecond(allowedAt)} in one second`
    console.log(`${name.padEnd(14)}${drawn}  ${figures}${toLineEnd}`)
  }
}

/**
 * The largest number of hits that passed in any 1,000 ms.
 * @param {number[]} times
 */
function mostInOneSecond(times) {
  return Math.max(0, ...times.map((start) => times.filter((time) => time >= start && time < start + 1000).length))
}
