// Writes everything that is made from the rule catalogue and from the contract of the API, and builds: the Redis program, the functions
// for Postgres, the tables in the documents, the description of the API, the contract for the client, the schema of the configuration, and
// the pages.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

const STEPS = [
  ['scripts/build-redis-program.mjs'],
  ['scripts/build-postgres-program.mjs'],
  ['scripts/write-rule-tables.mjs'],
  ['node_modules/typescript/bin/tsc', '-b'],
  ['packages/server/scripts/write-openapi.mjs'],
  ['packages/server/scripts/write-client-contract.mjs'],
  ['packages/server/scripts/write-config-schema.mjs'],
  [
    'node_modules/@biomejs/biome/bin/biome',
    'check',
    '--write',
    'packages/server/openapi.json',
    'packages/server/config.schema.json',
  ],
  ['scripts/build-dashboard.mjs'],
]

for (const step of STEPS) {
  const { status } = spawnSync(process.execPath, step, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
