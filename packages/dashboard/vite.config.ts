// Builds the pages into plain files that any server can hand out: no inline script or style, so that a strict
// Content-Security-Policy holds, and nothing from another host.

import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  root: here('.'),
  appType: 'mpa',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here('../server/dist/dashboard'),
    emptyOutDir: true,
    // Beyond what the policy allows for pictures, nothing may come as data: in the page itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: { input: [here('index.html'), here('playground.html')] },
  },
})
