// Builds the pages into plain files that any server can serve. They have no inline script or style, so that a strict
// Content-Security-Policy holds, and they load nothing from other hosts.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const require = createRequire(import.meta.url)

/** The packages that src/theme/typeface.css takes its files from. */
const TYPEFACES = ['inter', 'jetbrains-mono']

export default defineConfig({
  root: here('.'),
  appType: 'mpa',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [typefaces()],
  build: {
    outDir: here('../server/dist/dashboard'),
    emptyOutDir: true,
    // The policy allows data: URLs only for pictures, so no asset is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    rolldownOptions: { input: [here('index.html'), here('playground.html'), here('not-found.html'), here('docs.html')] },
  },
})

/**
 * Copies the licences of the typefaces beside the pages, as the licences require. Makes every document preload the one font
 * file that every page needs, so that text does not change its width after it was drawn.
 */
function typefaces(): Plugin {
  return {
    name: 'typefaces',
    generateBundle() {
      for (const name of TYPEFACES) {
        const source = readFileSync(require.resolve(`@fontsource-variable/${name}/LICENSE`), 'utf8')
        this.emitFile({ type: 'asset', fileName: `licences/${name}.txt`, source })
      }
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle = {} }) {
        const file = Object.keys(bundle).find((name) => name.includes('/inter-latin-wght-normal-'))
        if (file === undefined) return []
        const attrs = { rel: 'preload', href: `/${file}`, as: 'font', type: 'font/woff2', crossorigin: true }
        return [{ tag: 'link', attrs, injectTo: 'head' as const }]
      },
    },
  }
}
