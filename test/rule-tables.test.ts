// The tables about rules in the documents are those that the catalogue makes.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as catalogue from '../packages/sluice/src/algorithms/index.ts'
import { DOCUMENTS, withTables } from '../scripts/rule-tables.mjs'

test.each(DOCUMENTS)('%s has the tables of the catalogue (if not: npm run tables)', (document) => {
  const text = readFileSync(new URL(`../${document}`, import.meta.url), 'utf8')
  expect(withTables(text, catalogue)).toBe(text)
  expect(text).toMatch(/<!-- table: /)
})

test('every rule has a section in the reference, with a table of its options', () => {
  const reference = readFileSync(new URL('../docs/reference/rules.md', import.meta.url), 'utf8')
  for (const { algorithm, call } of catalogue.ruleCatalogue) {
    expect(reference).toMatch(new RegExp(`\n## ${call}\n[^#]*<!-- table: options ${algorithm} -->`))
  }
})

test('a table that does not exist, and one of a rule that does not, are refused', () => {
  expect(() => withTables('<!-- table: chairs -->\n<!-- /table -->', catalogue)).toThrow(/no table is called chairs/)
  expect(() => withTables('<!-- table: options chair -->\n<!-- /table -->', catalogue)).toThrow(/no rule is called chair/)
})

test.each([
  ['1m', '5/minute'],
  ['10s', '5/10 seconds'],
  [1500, '5/1500 milliseconds'],
])('an example may have any window: %s', (window, notation) => {
  const facts = { ...catalogue.ruleCatalogue[0], example: { limit: 5, window } as object }
  const table = withTables('<!-- table: notations -->\n<!-- /table -->', { ...catalogue, ruleCatalogue: [facts] })
  expect(table).toContain(`\`${notation}\``)
})
