// A proxy before an LLM API that keeps requests, tokens, money and streams at once, for each organisation and user. Try:
//   curl -iN http://127.0.0.1:3000/ -H 'X-Org: acme' -H 'X-User: ada' -d '{"messages":[{"content":"hello"}],"max_tokens":100}'
// Without UPSTREAM it asks a fake API. With DATABASE, several of these programs share one SQLite file. LIMITS sets other limits.

import { serve } from '@hono/node-server'
import { sqliteStore } from 'sluice/sqlite'
import { startFakeApi } from './llm/fake-api.mjs'
import { llmProxy } from './llm/proxy.mjs'

const { PORT = '3000', UPSTREAM, DATABASE, LIMITS = '{}' } = process.env

const usual = { requests: 3, tokens: 10_000, microdollars: 50_000, streams: 8, ttl: '30s' }

/** @param {string} file */
async function openFile(file) {
  const { default: Database } = await import('better-sqlite3')
  return sqliteStore(new Database(file))
}

const handler = llmProxy({
  upstream: UPSTREAM ?? (await startFakeApi()).url,
  limits: { ...usual, ...JSON.parse(LIMITS) },
  ...(DATABASE && { store: await openFile(DATABASE) }),
})

serve({ fetch: handler, hostname: '127.0.0.1', port: Number(PORT) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}/`)
})
