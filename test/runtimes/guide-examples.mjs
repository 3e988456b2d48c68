// The server of a guide, run in the guide's runtime.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { askProgram } from './examples.mjs'

/** @import { Outcome } from './collected-tests.ts' */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Guides with a server as their first example, and arguments of the runtime before the file. */
const GUIDES = { Bun: { file: 'bun.md', args: [] }, Deno: { file: 'deno.md', args: ['run', '--allow-net'] } }

/**
 * Runs the server of a guide, and compares its answers with its limit of three.
 * @param {keyof typeof GUIDES} runtime
 * @param {string} program
 * @returns {Promise<Outcome>}
 */
export async function runGuide(runtime, program) {
  const { file, args } = GUIDES[runtime]
  const code = /```ts[^\n]*\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs/guides', file), 'utf8'))?.[1] ?? ''
  // Deno loads no such programs from below node_modules.
  const path = fileURLToPath(new URL(`.${file}.ts`, import.meta.url))
  writeFileSync(path, code.replace('port: 3000', 'port: 0'))
  try {
    const { statuses } = await askProgram(program, [...args, path], [[{}, 200, 200, 200, 429]])
    const isRight = JSON.stringify(statuses) === '[[200,200,200,429]]'
    return { passed: Number(isRight), failed: isRight ? [] : [`${file}: ${JSON.stringify(statuses)}`] }
  } finally {
    rmSync(path)
  }
}
