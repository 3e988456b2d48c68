// Writes the texts of the Redis programs into a module of the library, from the translations that stand beside the definitions.
// The rule catalogue says which translations there are, and in which order they take their parameters. The module has the SHA-1 of
// every program: the general one, and a small one for each set of translations.
// `--check` writes nothing and fails if the module is not what the translations make.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { importSource, readCatalogue } from './rule-catalogue.mjs'

/** @import { Translation } from 'sluice/rules' */
/** @import { ProgramParts, TranslationParts } from '../packages/sluice/src/stores/redis/join-program.ts' */

const SRC = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url))
const TARGET = `${SRC}stores/redis/program.ts`

/** The locals of rules-of-run.lua for the parameters of a rule. */
const REGISTERS = ['a', 'b', 'c', 'd', 'e', 'f']

/** @type {typeof import('../packages/sluice/src/stores/redis/join-program.ts')} */
const { joinProgram } = await importSource(`${SRC}stores/redis/join-program.ts`)
const { ruleCatalogue } = await readCatalogue(SRC)
/** Several rules may share one. */
const translations = [...new Set(ruleCatalogue.map(({ translation }) => translation))]

/** @type {ProgramParts} */
const parts = {
  command: partOf('stores/redis/command.lua'),
  hits: partOf('stores/redis/hits.lua'),
  generalHits: partOf('stores/redis/general-hits.lua'),
  rulesOfRun: partOf('stores/redis/rules-of-run.lua'),
  runOfHits: partOf('stores/redis/run-of-hits.lua'),
  general: partOf('stores/redis/general.lua'),
  wholeNumbers: partOf('algorithms/whole-numbers.lua'),
  holds: partOf('stores/redis/holds.lua'),
  calls: partOf('stores/redis/calls.lua'),
  operations: partOf('stores/redis/operations.lua'),
  heldStep: partOf('stores/redis/held-step.lua'),
  heldOperations: partOf('stores/redis/held-operations.lua'),
  shortHolds: partOf('stores/redis/short-holds.lua'),
  longWay: partOf('stores/redis/long-way.lua'),
}
const translated = translations.map(textsOf)
const smallPrograms = Array.from({ length: 2 ** translated.length - 1 }, (_, i) =>
  joinProgram(
    parts,
    translated.filter((_, bit) => ((i + 1) >> bit) % 2 === 1),
    'small',
  ),
)

const algorithms = translations.flatMap(({ algorithms, parameters }, translation) =>
  algorithms.map((algorithm) => `  ${nameOf(algorithm)}: { translation: ${translation}, parameters: ${listOf(parameters)} },\n`),
)
const module = `// Made by scripts/build-redis-program.mjs from the rule catalogue and the .lua files. Change those, then run it.

import type { ProgramParts, TranslationParts } from './join-program.ts'

/** The index of each algorithm's translation, and the names of its parameters in the order in which programs read them. */
export const ALGORITHMS: Readonly<Record<string, { readonly translation: number; readonly parameters: readonly string[] }>> = {
${algorithms.join('')}}

/** For each translation, the parameters that are true or false, with their values in a plain rule. */
export const FLAGS: readonly Readonly<Record<string, boolean>>[] = [
${translations.map((each) => `  ${recordOf(flagsOf(each))},\n`).join('')}]

/** SHA-1 of the general program. */
export const GENERAL_SHA1 = '${sha1(joinProgram(parts, translated, 'general'))}'

/** SHA-1 of each small program. Index i is the program with the translations whose bits are set in i + 1. */
export const SMALL_SHA1 = [
${smallPrograms.map((program) => `  '${sha1(program)}',\n`).join('')}]

export const PARTS: ProgramParts = {
${literalOf(parts, '  ')}}

export const TRANSLATIONS: readonly TranslationParts[] = [
${translated.map((texts) => `  {\n${literalOf(texts, '    ')}  },\n`).join('')}]
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
 * The texts of a translation. Its file has the short way first, and the definition last.
 * @param {Translation} translation
 * @returns {TranslationParts}
 */
function textsOf(translation) {
  const { define, file } = translation
  const text = partOf(`algorithms/${file}`)
  const definitionAt = text.indexOf(`local function ${define}()`)
  const spellings = Object.keys(flagsOf(translation)).length > 0 ? [true, false] : [false]
  return {
    shortWay: text.slice(0, definitionAt).trimEnd(),
    findShortWay: chosenBy(spellings.map((isPlain) => [isMeant(translation, isPlain), assignmentOf(translation, isPlain)])),
    definition: text.slice(definitionAt),
    findDefinition: chosenBy(spellings.map((isPlain) => [isMeant(translation, isPlain), returnOf(translation, isPlain)])),
  }
}

/**
 * Lua that runs the code of the first condition that holds.
 * @param {[condition: string, code: string][]} choices
 */
function chosenBy(choices) {
  return `${choices.map(([condition, code], i) => `${i === 0 ? 'if' : 'elseif'} ${condition} then ${code}`).join(' ')} end`
}

/**
 * Lua that is true for the names of a translation's algorithms. A plain rule has no flags among its arguments.
 * @param {Translation} translation
 * @param {boolean} isPlain
 */
function isMeant({ algorithms }, isPlain) {
  return algorithms.map((algorithm) => `name == '${isPlain ? 'plain-' : ''}${algorithm}'`).join(' or ')
}

/**
 * Lua that returns the definition of a rule and its parameters.
 * @param {Translation} translation
 * @param {boolean} isPlain
 */
function returnOf(translation, isPlain) {
  const { define, parameters } = translation
  const { values, after } = valuesOf(translation, 'at', isPlain)
  const byName = values.map((value, i) => `${parameters[i]} = ${value}`)
  return `return ${after}, ${define}, { ${byName.join(', ')} }`
}

/**
 * Lua that sets the short way of a rule and its parameters.
 * @param {Translation} translation
 * @param {boolean} isPlain
 */
function assignmentOf(translation, isPlain) {
  const { parameters, shortWay } = translation
  const { values, after } = valuesOf(translation, 'after', isPlain)
  if (shortWay === undefined) return `after, way = ${after}, nil`
  if (parameters.length > REGISTERS.length) throw new Error(`${shortWay} takes more than ${REGISTERS.length} parameters`)
  const registers = REGISTERS.slice(0, parameters.length).join(', ')
  return `after, way, ${registers} = ${after}, ${shortWay}, ${values.join(', ')}`
}

/**
 * Lua for each parameter of a rule, from the list of arguments, and for the index of the last one. Flags are '1' and '0', other
 * parameters are whole numbers.
 * @param {Translation} translation
 * @param {string} at The index before the rule in the list.
 * @param {boolean} isPlain
 */
function valuesOf(translation, at, isPlain) {
  const flags = flagsOf(translation)
  let index = 1
  const values = translation.parameters.map((name) => {
    const isFlag = Object.hasOwn(flags, name)
    if (isFlag && isPlain) return String(flags[name])
    index += 1
    return `list[${at} + ${index}]${isFlag ? " == '1'" : ' + 0'}`
  })
  return { values, after: `${at} + ${index}` }
}

/**
 * The parameters that are true or false, with their values in the example of a rule. A rule with these values is plain.
 * @param {Translation} translation
 * @returns {Record<string, boolean>}
 */
function flagsOf(translation) {
  const facts = ruleCatalogue.find((each) => each.translation === translation)
  const { parameters } = /** @type {NonNullable<typeof facts>} */ (facts).make(/** @type {never} */ (facts?.example))
  const names = translation.parameters.filter((name) => typeof parameters[name] === 'boolean')
  return Object.fromEntries(names.map((name) => [name, /** @type {boolean} */ (parameters[name])]))
}

/** @param {Record<string, boolean>} values */
function recordOf(values) {
  const entries = Object.entries(values).map(([name, value]) => `${name}: ${value}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}

/** @param {readonly string[]} names */
function listOf(names) {
  return `[${names.map((name) => `'${name}'`).join(', ')}]`
}

/**
 * @param {object} texts
 * @param {string} indent
 */
function literalOf(texts, indent) {
  return Object.entries(texts)
    .map(([name, text]) => `${indent}${name}: \`${text}\`,\n`)
    .join('')
}

/** @param {string} text */
function sha1(text) {
  return createHash('sha1').update(text).digest('hex')
}

/**
 * A file without whole-line comments and indentation: those are for readers, and Redis keeps and hashes every byte. Lines with
 * --@ are places for other parts.
 * @param {string} file
 */
function partOf(file) {
  const code = readFileSync(SRC + file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && (line.startsWith('--@') || !line.startsWith('--')))
    .join('\n')
  if (/[`\\]|\$\{/.test(code))
    throw new Error('the program holds a backtick, a backslash or ${, which its template literal cannot')
  return code
}

/** @param {string} algorithm */
function nameOf(algorithm) {
  return /^\w+$/.test(algorithm) ? algorithm : `'${algorithm}'`
}
