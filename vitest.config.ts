import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/{src,test}/**/*.test.ts', 'test/**/*.test.ts'],
    globals: true,
    testTimeout: 30_000,
    // Much of the time goes by waiting for servers: a file for each core, also where there are only two.
    maxWorkers: '100%',
    // Of the tests of one file that may run side by side.
    maxConcurrency: 2,
    reporters: ['default'],
  },
})
