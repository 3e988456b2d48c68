import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/{src,test}/**/*.test.ts', 'test/**/*.test.ts'],
    globals: true,
    testTimeout: 30_000,
    // Much of the time goes by waiting for servers: three files at once also where there are only two cores.
    maxWorkers: 3,
    // Of the tests of one file that may run side by side.
    maxConcurrency: 2,
    reporters: ['default'],
  },
})
