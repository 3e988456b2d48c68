import { defineConfig } from 'vitest/config'

const TESTS = ['packages/*/{src,test}/**/*.test.ts', 'test/**/*.test.ts']

/**
 * Files that need a process of their own. The examples of documents leave connections and timers behind. The files of a request are
 * found by all functions that run in the process, and memory stores of other tests sweep there.
 */
const ALONE = ['test/documents.test.ts', 'packages/sluice/test/middleware/files-of-a-request.test.ts']

/** Files that assert deadlines of a fraction of a second. They run after all others, because busy neighbours would miss them. */
const TIMED = ['test/faults/faults.test.ts']

/** Files that take more than ten seconds each: processes, pages in a browser, several instances. `npm run test:slow` runs them. */
const SLOW = ['packages/*/{src,test}/**/*.slow.test.ts', 'test/**/*.slow.test.ts']

export default defineConfig({
  test: {
    globals: true,
    // A shared machine may stand still for a minute. Six servers of a cluster start slowly on a busy one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Tests spend much of their time waiting for servers, so three files run at once even on two cores. CI has more time than people.
    maxWorkers: process.env.CI ? 2 : 3,
    // Tests of one file that may run side by side.
    maxConcurrency: 2,
    setupFiles: ['test/property-sizes.ts'],
    reporters: ['default'],
    // A test that fails in the middle leaves no spy and no stub to the next one.
    restoreMocks: true,
    unstubGlobals: true,
    projects: [
      // One process runs many files, because loading the same modules for each file costs more than most tests. A file leaves
      // the process as it found it.
      { extends: true, test: { name: 'shared', include: TESTS, exclude: [...ALONE, ...TIMED, ...SLOW], isolate: false } },
      { extends: true, test: { name: 'alone', include: ALONE } },
      { extends: true, test: { name: 'slow', include: SLOW, isolate: false } },
      { extends: true, test: { name: 'timed', include: TIMED, sequence: { groupOrder: 1 } } },
    ],
  },
})
