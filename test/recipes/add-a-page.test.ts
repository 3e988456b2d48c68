// packages/dashboard/README.md, "A new page is …": follows the recipe for a toy, builds it and asks a service for it.

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { WorkingCopy } from './working-copy.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let copy: WorkingCopy

beforeAll(() => {
  copy = new WorkingCopy()
  const src = 'packages/dashboard/src'
  copy.write(`${src}/pages/toy/toy.tsx`, '// A toy.\n\nexport function Toy() {\n  return <h1>A toy page</h1>\n}\n')
  copy.change(`${src}/shell/shell.tsx`, (text) =>
    text.replace(/(const PLACES.*\n)/, "$1  { path: '/toy', title: 'Toy', icon: 'live' },\n"),
  )
  copy.change(`${src}/main.tsx`, (text) =>
    text
      .replace(/(import \{ Overview \}.*\n)/, "$1import { Toy } from './pages/toy/toy.tsx'\n")
      .replace(/(\n {2}return <Overview \/>)/, "\n  if (here === '/toy') return <Toy />$1"),
  )
  copy.change('packages/server/src/doors/http/pages/page-routes.ts', (text) => text.replace("'/live',", "'/live', '/toy',"))
  copy.compile('-b')
})

afterAll(() => copy?.remove())

test('it has the right types', () => {
  copy.compile('-p', 'packages/dashboard')
})

test('it is built, and served with the service', () => {
  copy.run('scripts/build-dashboard.mjs')
  const program = `
    import { loadConfig, serve } from 'sluice-server'
    const flags = { listen: '127.0.0.1:0', dataFolder: './data', logLevel: 'silent', drainDelay: '0s' }
    const service = await serve({ config: (await loadConfig({ flags })).config, onFirstKey: () => {} })
    const ask = async (path) => (await fetch(new URL(path, service.address))).text()
    const page = await ask('/toy')
    const [, script] = /<script type="module"[^>]* src="([^"]+)"/.exec(page)
    console.log((await ask(script)).includes('A toy page'))
    await service.close()`
  expect(copy.run('--input-type=module', '--eval', program)).toBe('true\n')
})
