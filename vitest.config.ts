import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/{src,test}/**/*.test.ts', 'test/**/*.test.ts'],
    globals: true,
    testTimeout: 30_000,
    reporters: ['default'],
  },
})
