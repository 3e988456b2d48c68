// Assembles the Redis program from the translations that stand beside the definitions, into a module of the library.
// The rule catalogue says which translations there are, and in which order they take their parameters.
// `--check` writes nothing and fails if the module is not what the translations make.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readCatalogue } from './rule-catalogue.mjs'

/** @import { Translation } from 'sluice/rules' */

const SRC = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url))
const TARGET = `${SRC}stores/redis/program.ts`

const { ruleCatalogue } = await readCatalogue(SRC)
/** Several rules may share one. */
const translations = [...new Set(ruleCatalogue.map(({ translation }) => translation))]

const program = [
  partOf('algorithms/whole-numbers.lua'),
  ...translations.map(({ file }) => partOf(`algorithms/${file}`)),
  translationTable(translations),
  partOf('stores/redis/calls.lua'),
  partOf('stores/redis/program.lua'),
].join('\n')
const sha1 = createHash('sha1').update(program).digest('hex')
const parameters = translations.flatMap(({ algorithms, parameters }) =>
  algorithms.map((algorithm) => `  ${nameOf(algorithm)}: [${parameters.map((name) => `'${name}'`).join(', ')}],\n`),
)
const module = `// Made by scripts/build-redis-program.mjs from the rule catalogue and the .lua files beside the definitions. Change those, then run it.

/** Names of a rule's parameters in the order in which the program reads them, by algorithm. */
export const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
${parameters.join('')}}

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
 * A Lua function from the arguments of a rule to its parameters by name, what defines it, and its short way.
 * @param {readonly Translation[]} translations
 */
function translationTable(translations) {
  const branches = translations.map(({ algorithms, define, shortWay = 'nil', parameters }) => {
    const isMeant = algorithms.map((algorithm) => `name == '${algorithm}'`).join(' or ')
    const byName = parameters.map((parameter, i) => `${parameter} = described[${i + 2}]`).join(', ')
    return `if ${isMeant} then return { ${byName} }, ${define}, ${shortWay} end`
  })
  return ['local function translationOf(described)', 'local name = described[1]', ...branches, 'end'].join('\n')
}

/**
 * A file without whole-line comments and indentation: those are for readers, and Redis keeps and hashes every byte.
 * @param {string} file
 */
function partOf(file) {
  const code = readFileSync(SRC + file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n')
  if (/[`\\]|\$\{/.test(code))
    throw new Error('the program holds a backtick, a backslash or ${, which its template literal cannot')
  return code
}

/** @param {string} algorithm */
function nameOf(algorithm) {
  return /^\w+$/.test(algorithm) ? algorithm : `'${algorithm}'`
}
