// Opens every public door of the built packages and compares its names with the committed list.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const manifest = JSON.parse(readFileSync(fileURLToPath(new URL('../packages/sluice/package.json', import.meta.url)), 'utf8'))

/** Every public name. Adding one is a promise; taking one away is a new major version. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  sluice: [
    'ERROR_CODES',
    'SluiceError',
    'createLimiter',
    'decide',
    'fixedWindow',
    'gcra',
    'leakyBucket',
    'memoryStore',
    'parseRule',
    'slidingLog',
    'slidingWindow',
    'tokenBucket',
  ],
  'sluice/redis': ['redisStore'],
  'sluice/testing': ['KNOWN_ANSWERS', 'definitionStore', 'everyRule', 'fakeClock', 'knownRule', 'replay', 'storeSuite'],
}

test('the doors are those of the list', () => {
  const doors = Object.keys(manifest.exports).filter((door) => door !== './package.json')
  expect(doors.map((door) => `sluice${door.slice(1)}`).sort()).toEqual(Object.keys(DOORS).sort())
})

for (const [door, names] of Object.entries(DOORS)) {
  test(`${door} has the names of the list`, async () => {
    const opened = await import(/* @vite-ignore */ door)
    expect(Object.keys(opened).sort()).toEqual([...names].sort())
  })
}
