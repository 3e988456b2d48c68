// Runs the programs of examples/ in a runtime, and sends the requests that their comments suggest.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const EXAMPLES_FOLDER = fileURLToPath(new URL('../../examples', import.meta.url))

/**
 * A request, with the statuses of its answers if it is sent again and again. `form` has the fields of a posted form, and `json` is
 * posted as JSON.
 * @typedef {{ path?: string, headers?: Record<string, string>, form?: Record<string, string>, json?: object }} Sent
 * @typedef {[Sent, ...number[]]} Question
 */

const ASK = { messages: [{ role: 'user', content: 'hello' }], max_tokens: 100 }

/** Requests to each program, and the expected statuses. @type {Readonly<Record<string, readonly Question[]>>} */
export const EXAMPLES = {
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
  'llm-proxy.mjs': [
    [{ json: ASK }, 401],
    [{ json: {}, headers: { 'X-Org': 'acme', 'X-User': 'ada' } }, 400],
    [{ json: ASK, headers: { 'X-Org': 'acme', 'X-User': 'ada' } }, 200, 200, 200, 429],
    [{ json: { ...ASK, max_tokens: 9000 }, headers: { 'X-Org': 'acme', 'X-User': 'bob' } }, 429],
    [{ json: ASK, headers: { 'X-Org': 'acme', 'X-User': 'bob' } }, 200],
  ],
  'nest.mjs': [
    [{ path: '/report' }, 200, 429],
    [{}, 200],
    [{ path: '/health' }, 200],
  ],
}

/**
 * Starts an example, sends its requests, and stops it.
 * @param {string} file
 * @param {string} program
 * @param {readonly string[]} [args] arguments before the file
 */
export function askExample(file, program, args = []) {
  return askProgram(program, [...args, join(EXAMPLES_FOLDER, file)], EXAMPLES[file])
}

/**
 * Starts a program that prints its address, sends requests, and stops it. Returns the statuses and the printed lines.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {readonly Question[]} questions
 */
export async function askProgram(program, args, questions) {
  const child = spawn(program, args, { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const lines = createInterface({ input: child.stdout })
    /** @type {string[]} */
    const printed = []
    lines.on('line', (line) => printed.push(line))
    await Promise.race([once(lines, 'line'), once(child, 'exit')])
    const url = /^listening on (\S+)$/.exec(printed[0] ?? 'nothing was printed')?.[1]
    /** @type {number[][]} */
    const statuses = []
    for (const [{ path = '/', headers = {}, form, json }, ...expected] of questions) {
      const posted = form === undefined ? json && JSON.stringify(json) : new URLSearchParams(form)
      const init = posted === undefined ? { headers } : { method: 'POST', headers, body: posted }
      /** @type {number[]} */
      const seen = []
      for (let i = 0; i < expected.length; i++) seen.push((await fetch(new URL(path, url), init)).status)
      statuses.push(seen)
    }
    // The last lines may still be on their way.
    await new Promise((resolve) => setTimeout(resolve, 50))
    return { statuses, printed }
  } finally {
    child.kill()
  }
}

/**
 * The expected statuses of an example.
 * @param {string} file
 */
export function expectedOf(file) {
  return EXAMPLES[file].map(([, ...expected]) => expected)
}
