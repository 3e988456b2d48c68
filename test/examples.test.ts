// Runs every program of examples/ and sends the requests that its comment suggests.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'

const folder = fileURLToPath(new URL('../examples', import.meta.url))

interface Asked {
  readonly path?: string
  readonly headers?: Record<string, string>
  /** Fields of a posted form. */
  readonly form?: Record<string, string>
}

/** Requests to each program, and the expected statuses. */
const EXAMPLES: Readonly<Record<string, readonly (readonly [Asked, ...number[]])[]>> = {
  'express.mjs': [
    [{ form: { account: 'ada', password: 'correct horse' }, path: '/login' }, 200],
    [{ form: { account: 'ada', password: 'guess' }, path: '/login' }, 401, 401, 401, 429],
    [{ path: '/health' }, 200, 200],
  ],
  'fastify.mjs': [
    [{ path: '/report' }, 200],
    [{}, 200],
    [{ path: '/report' }, 429],
    [{ path: '/health' }, 200],
  ],
  'hono.mjs': [
    [{ headers: { 'X-User': 'ada' } }, 200, 200, 200],
    [{ headers: { 'X-User': 'bob' } }, 200, 200, 429],
  ],
  'koa.mjs': [[{}, 200, 200, 200]],
  'fetch.mjs': [[{}, 200, 200, 200, 429]],
  'node.mjs': [[{}, 200, 200, 200, 429]],
  'nest.mjs': [
    [{ path: '/report' }, 200, 429],
    [{}, 200],
    [{ path: '/health' }, 200],
  ],
}

let child: ChildProcess | undefined
afterEach(() => {
  child?.kill()
})

test('every example is run', () => {
  expect(
    readdirSync(folder)
      .filter((name) => name.endsWith('.mjs'))
      .sort(),
  ).toEqual(Object.keys(EXAMPLES).sort())
})

test.each(Object.entries(EXAMPLES))('%s', async (file, questions) => {
  child = spawn(process.execPath, [join(folder, file)], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const printed: string[] = []
  lines.on('line', (line) => printed.push(line))
  await Promise.race([once(lines, 'line'), once(child, 'exit')])
  const url = /^listening on (\S+)$/.exec(printed[0] ?? 'nothing was printed')?.[1]
  for (const [{ path = '/', headers = {}, form }, ...expected] of questions) {
    const init = form === undefined ? { headers } : { method: 'POST', body: new URLSearchParams(form) }
    const statuses: number[] = []
    for (let i = 0; i < expected.length; i++) statuses.push((await fetch(new URL(path, url), init)).status)
    expect(statuses, path).toEqual(expected)
  }
  if (file === 'koa.mjs') await expect.poll(() => printed[1]).toMatch(/^127\.0\.0\.1 would wait \d+ ms$/)
})
