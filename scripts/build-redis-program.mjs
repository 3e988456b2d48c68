// Assembles the Redis program from the translations beside the definitions, into a module of the library.
// `--check` writes nothing and fails if the module differs from the translations.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const SRC = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url))
const TARGET = `${SRC}stores/redis/program.ts`

const PARTS = [
  'algorithms/whole-numbers.lua',
  'algorithms/fixed-window/fixed-window.lua',
  'algorithms/sliding-window/sliding-window.lua',
  'algorithms/sliding-log/sliding-log.lua',
  'algorithms/meter/meter.lua',
  'stores/redis/calls.lua',
  'stores/redis/program.lua',
]

const program = PARTS.map((part) => withoutComments(readFileSync(SRC + part, 'utf8'))).join('\n')
const sha1 = createHash('sha1').update(program).digest('hex')
const module = `// Made by scripts/build-redis-program.mjs from the .lua files beside the definitions. Change those, then run it.

export const PROGRAM_SHA1 = '${sha1}'

export const PROGRAM = \`${program}\`
`

if (!process.argv.includes('--check')) {
  writeFileSync(TARGET, module)
} else if (readFileSync(TARGET, 'utf8') !== module) {
  console.error(
    'packages/sluice/src/stores/redis/program.ts is not what the .lua files make: run node scripts/build-redis-program.mjs',
  )
  process.exit(1)
}

/**
 * Removes whole-line comments and indentation. Readers need them, but Redis keeps and hashes every byte.
 * @param {string} lua
 */
function withoutComments(lua) {
  const code = lua
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n')
  if (/[`\\]|\$\{/.test(code))
    throw new Error('the program holds a backtick, a backslash or ${, which its template literal cannot')
  return code
}
