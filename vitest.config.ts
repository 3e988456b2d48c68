import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/{src,test}/**/*.test.ts', 'test/**/*.test.ts'],
    globals: true,
    testTimeout: 30_000,
    // Tests spend much of their time waiting for servers, so three files run at once even on two cores.
    maxWorkers: 3,
    // Tests of one file that may run side by side.
    maxConcurrency: 2,
    reporters: ['default'],
  },
})
