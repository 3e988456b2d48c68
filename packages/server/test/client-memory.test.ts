// Memory of the statistics of clients at their bound. A process of its own is measured, because other tests share the heap of this one.

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** The statistics of the built service. */
const FILE = new URL('../dist/stats/top-clients.js', import.meta.url).href

/** One for allowed and one for denied checks, with other clients in each ten minutes. Letters beyond Latin take two bytes each. */
const PROGRAM = `
import { TopClients } from ${JSON.stringify(FILE)}
const bytes = () => {
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
const before = bytes()
const both = [new TopClients(), new TopClients()]
for (const [i, top] of both.entries())
  for (let slice = 0; slice < 20; slice++)
    for (let client = 0; client < 2000; client++) {
      const name = i + '-' + slice + '-' + client + '-'
      top.add(name + '\\u0436'.repeat(256 - name.length), slice * 600_000)
    }
const taken = bytes() - before
console.log(JSON.stringify({ taken, listed: both.map((top) => top.read(500, 190 * 60_000).clients.length) }))
`

test('at the bound, with the longest names, the clients of an instance take less than 10 MB', () => {
  const args = ['--expose-gc', '--input-type=module', '--eval', PROGRAM]
  const { taken, listed } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  expect(listed).toEqual([500, 500])
  expect(taken).toBeGreaterThan(5_000_000)
  expect(taken).toBeLessThan(10_000_000)
})
