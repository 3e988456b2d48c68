// Writes the tables about rules into the documents. A test fails when a document has others.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readCatalogue } from './rule-catalogue.mjs'
import { DOCUMENTS, withTables } from './rule-tables.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const catalogue = await readCatalogue(join(root, 'packages', 'sluice', 'src'))

for (const document of DOCUMENTS) {
  const file = join(root, document)
  writeFileSync(file, withTables(readFileSync(file, 'utf8'), catalogue))
}
