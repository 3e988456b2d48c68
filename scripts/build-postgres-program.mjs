// Writes the functions for Postgres into a module of the library, from the translations that stand beside the definitions. The rule
// catalogue says which translations there are, and in which order they take their parameters.
// `--check` writes nothing and fails if the module is not what the translations make.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readCatalogue } from './rule-catalogue.mjs'

/** @import { Translation } from 'sluice/rules' */
/** @typedef {Translation & { readonly plpgsql: string }} Translated */

const SRC = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url))
const FOLDER = 'stores/postgres/program/'
const TARGET = `${SRC}${FOLDER}program.ts`

/** Numbers that translations name. */
const CONSTANTS = { MAX: '9007199254740991::float8', MODULUS: '9007199254740992::float8', INFINITY: "'Infinity'::float8" }

const { ruleCatalogue } = await readCatalogue(SRC)
/** Several rules may share one. */
const translations = [...new Set(ruleCatalogue.map(({ translation }) => translation))].filter(isTranslated)

const rules = translations.map((translation) => ({ name: functionOf(translation), text: ruleFunction(translation) }))
const calls = textOf(linesOf('calls.plpgsql').flatMap(dispatched))
const held = ['any-rule', 'holds', 'held-figures', 'held'].map((file) => textOf(linesOf(`${file}.plpgsql`).flatMap(dispatched)))
const single = textOf(linesOf('single.plpgsql').flatMap(dispatched))

const algorithms = translations.flatMap(({ algorithms }, translation) =>
  algorithms.map((algorithm, i) => `  ${nameOf(algorithm)}: { translation: ${translation + 1}, algorithm: ${i + 1} },\n`),
)
const parameters = translations.map(({ parameters }) => `  [${parameters.map((name) => `'${name}'`).join(', ')}],\n`)
const module = `// Made by scripts/build-postgres-program.mjs from the rule catalogue and the .plpgsql files. Change those, then run it.

/** The numbers of each algorithm and its translation. Both begin with 1. */
export const ALGORITHMS: Readonly<Record<string, { readonly translation: number; readonly algorithm: number }>> = {
${algorithms.join('')}}

/** The names of the parameters of each translation, in the order in which its function reads them. */
export const PARAMETERS: readonly (readonly string[])[] = [
${parameters.join('')}]

/** The type of a row. */
export const STATE = \`${textOf(linesOf('state.plpgsql'))}\`

/** The function of each translation, by name. Names of functions, of the type and of the table begin with @. */
export const RULE_FUNCTIONS: Readonly<Record<string, string>> = {
${rules.map(({ name, text }) => `  ${name}: \`${text}\`,\n`).join('')}}

/** The functions for states with holds. */
export const HELD_FUNCTIONS = [
${held.map((text) => `  \`${text}\`,\n`).join('')}]

/** The function that decides any calls. */
export const CALLS = \`${calls}\`

/** The function that decides one call with one charge. */
export const SINGLE = \`${single}\`
`

if (!process.argv.includes('--check')) {
  writeFileSync(TARGET, module)
} else if (readFileSync(TARGET, 'utf8') !== module) {
  console.error(
    `packages/sluice/src/${FOLDER}program.ts is not what the .plpgsql files make: run node scripts/build-postgres-program.mjs`,
  )
  process.exit(1)
}

/**
 * @param {Translation} translation
 * @returns {translation is Translated}
 */
function isTranslated(translation) {
  return translation.plpgsql !== undefined
}

/**
 * Calls the function of a rule in the place of `--@dispatch`, which is followed by the amount and the end of the charge.
 * @param {string} line
 */
function dispatched(line) {
  const [directive, ...charge] = line.split(' ')
  if (directive !== '--@dispatch') return [line]
  const ways = translations.flatMap((translation, i) => [
    `${i === 0 ? 'IF' : 'ELSIF'} rules[ruleAt - 2] = ${i + 1} THEN`,
    `answer := @${functionOf(translation)}(action, before, nowMs, ${charge.join(' ')}, rules, ruleAt);`,
  ])
  return [...ways, 'END IF;']
}

/**
 * The name of a translation's function.
 * @param {Translated} translation
 */
function functionOf({ plpgsql }) {
  return plpgsql.replace(/^.*\/|\.plpgsql$/g, '').replaceAll('-', '_')
}

/**
 * The function of a translation: rule.plpgsql with the sections of the translation.
 * @param {Translated} translation
 */
function ruleFunction(translation) {
  const sections = sectionsOf(translation.plpgsql)
  /**
   * @param {string} line
   * @returns {readonly string[]}
   */
  const expanded = (line) => {
    const [directive, ...rest] = line.split(' ')
    if (directive === '--@include') {
      const section = sections.get(rest[0])
      if (section === undefined) throw new Error(`${translation.plpgsql} has no section ${rest[0]}`)
      return section.flatMap(expanded)
    }
    if (directive === '--@cells') return cellsOf(rest.join('').split(','))
    return directive === '--@parameters' ? parametersOf(translation) : [line]
  }
  const text = textOf(linesOf('rule.plpgsql').flatMap(expanded))
  const isAlgorithm = /algorithm = '([\w-]+)'/g
  const numbered = text.replace(isAlgorithm, (_, name) => `rules[ruleAt] = ${translation.algorithms.indexOf(name) + 1}`)
  const constants = new RegExp(`\\b(${Object.keys(CONSTANTS).join('|')})\\b`, 'g')
  return numbered
    .replace(constants, (name) => CONSTANTS[/** @type {keyof typeof CONSTANTS} */ (name)])
    .replace('@function', `@${functionOf(translation)}`)
}

/**
 * The lines of each section of a translation. A section begins with `--@ name`.
 * @param {string} file
 */
function sectionsOf(file) {
  /** @type {Map<string, string[]>} */
  const sections = new Map()
  /** @type {string[]} */
  let section = []
  for (const line of linesIn(`algorithms/${file}`)) {
    if (line.startsWith('--@ ')) {
      section = []
      sections.set(line.slice(4), section)
    } else section.push(line)
  }
  return sections
}

/**
 * Reads the cells of a value. Refuses a value with another number of cells, or with a cell that no definition writes.
 * @param {readonly string[]} names
 */
function cellsOf(names) {
  const areWhole = names.map((name) => `${name} BETWEEN 0 AND MAX AND ${name} = floor(${name})`).join(' AND ')
  return [
    ...names.map((name, i) => `${name} := value[${i + 1}];`),
    `IF cardinality(value) <> ${names.length} OR (${areWhole}) IS NOT TRUE THEN`,
    'RETURN NULL;',
    'END IF;',
  ]
}

/**
 * Declares the parameters of a rule. Flags are 1 and 0, other parameters are whole numbers.
 * @param {Translated} translation
 */
function parametersOf(translation) {
  const facts = ruleCatalogue.find((each) => each.translation === translation)
  const { parameters } = /** @type {NonNullable<typeof facts>} */ (facts).make(/** @type {never} */ (facts?.example))
  return translation.parameters.map((name, i) => {
    const value = `rules[ruleAt + ${i + 1}]`
    const isFlag = typeof parameters[name] === 'boolean'
    return `"${name.toLowerCase()}" CONSTANT ${isFlag ? `boolean := ${value} = 1` : `float8 := ${value}`};`
  })
}

/** @param {string} file */
function linesOf(file) {
  return linesIn(FOLDER + file)
}

/**
 * The lines of a file without comments and indentation. Directives begin with --@.
 * @param {string} file
 */
function linesIn(file) {
  return readFileSync(SRC + file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && (line.startsWith('--@') || !line.startsWith('--')))
}

/** @param {readonly string[]} lines */
function textOf(lines) {
  const text = lines.join('\n')
  if (/[`\\]|\$\{/.test(text))
    throw new Error('a function holds a backtick, a backslash or ${, which its template literal cannot')
  return text
}

/** @param {string} algorithm */
function nameOf(algorithm) {
  return /^\w+$/.test(algorithm) ? algorithm : `'${algorithm}'`
}
