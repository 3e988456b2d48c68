// packages/bench/README.md, "Add a contestant" and "Add a bench": follows both recipes for toys.

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { WorkingCopy } from './working-copy.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let copy: WorkingCopy

beforeAll(() => {
  copy = new WorkingCopy()
  copy.compile('-b', 'packages/sluice')
})

afterAll(() => copy?.remove())

test('a contestant is one file', () => {
  const contestants = 'packages/bench/memory/contestants'
  copy.copySibling(`${contestants}/bare-map.mjs`, `${contestants}/toy.mjs`, {
    "'floor'": "'aside'",
    'map.get(key)': 'toy.get(key)',
  })
  const program = `
    import { loadContestants } from './packages/bench/memory/contestants.mjs'
    import { measure } from './packages/bench/memory/tasks/hit-rate.mjs'
    const { role, call } = (await loadContestants()).find(({ name }) => name === 'toy')
    const { hitsPerSecond } = await measure({ contestant: 'toy', keys: 10, warmUpMs: 5, timedMs: 5 })
    console.log(JSON.stringify([role, call.slice(0, 12), hitsPerSecond > 0]))`
  expect(copy.run('--input-type=module', '--eval', program)).toBe('["aside","toy.get(key)",true]\n')
})

test('a bench is a folder and a line', () => {
  copy.write(
    'packages/bench/toy/toy.mjs',
    `import { atLeast } from '../report/bars.mjs'
     import { runBench } from '../rounds/run-bench.mjs'
     import * as one from './one.mjs'
     export const run = (options) => runBench({
       name: 'toy', title: 'Toy', plan: { contestants: [] }, tasks: [one],
       bars: (_plan, results) => [atLeast(1, results.median(['one', 'all', 'toy', 'ones']), { work: 'toys', unit: '×', of: ' one' })],
     }, options)`,
  )
  copy.write(
    'packages/bench/toy/one.mjs',
    `export const name = 'one'
     export const file = import.meta.url
     export const groups = () => [{ name: 'all', entrants: [{ name: 'toy', params: {} }] }]
     export const measure = () => ({ ones: 1 })
     export const table = () => ({ title: 'Ones', columns: ['toy'], rows: [['1']] })`,
  )
  copy.change('packages/bench/bench.mjs', (text) =>
    text.replace('  memory: {', "  toy: { rounds: 1, load: () => import('./toy/toy.mjs') },\n  memory: {"),
  )
  expect(copy.run('packages/bench/bench.mjs', 'toy')).toContain('1 passed, 0 failed')
})
