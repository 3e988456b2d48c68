// The playground without a service: builds the pages if they are stale, serves them on this machine and prints the address.

import { preview } from 'vite'
import { buildDashboard, VITE_CONFIG } from './build-dashboard.mjs'

const HELP = `Usage: npm run playground [-- --port <port>]

Rules side by side under traffic that you shape, in the browser.

  --port   where to listen; the next free one is taken if it is in use. 4747 by default
  --help   show this`

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(HELP)
  process.exit(0)
}
const port = args.length === 0 ? 4747 : args.length === 2 && args[0] === '--port' ? Number(args[1]) : Number.NaN
if (!Number.isInteger(port) || port < 1 || port > 65_535) {
  console.error(`cannot read ${args.join(' ')}\n\n${HELP}`)
  process.exit(2)
}

await buildDashboard()
const server = await preview({ configFile: VITE_CONFIG, logLevel: 'warn', preview: { host: '127.0.0.1', port } })
console.log(`The playground is at ${new URL('playground', server.resolvedUrls?.local[0])} (Ctrl+C stops it)`)
