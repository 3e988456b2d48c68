// Runs every program of examples/ and sends the requests that its comment suggests.

import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { askExample, EXAMPLES, EXAMPLES_FOLDER, expectedOf } from './runtimes/examples.mjs'

test('every example is run', () => {
  const files = readdirSync(EXAMPLES_FOLDER).filter((name) => name.endsWith('.mjs'))
  expect(files.sort()).toEqual(Object.keys(EXAMPLES).sort())
})

test.each(Object.keys(EXAMPLES))('%s', async (file) => {
  const { statuses, printed } = await askExample(file, process.execPath)
  expect(statuses).toEqual(expectedOf(file))
  if (file === 'koa.mjs') expect(printed[1]).toMatch(/^127\.0\.0\.1 would wait \d+ ms$/)
})
