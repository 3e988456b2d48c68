// The tables about rules in the documents, made from the rule catalogue. In a document a table stands between two comments:
// `<!-- table: name -->` and `<!-- /table -->`.

/** @typedef {typeof import('sluice/rules')} Catalogue */
/** @import { OptionFacts, RuleFacts } from 'sluice/rules' */

/** The documents that have such tables. */
export const DOCUMENTS = [
  'README.md',
  'docs/README.md',
  'docs/reference/rules.md',
  'docs/reference/notation.md',
  'docs/reference/policies.md',
]

const TABLE = /<!-- table: ([\w-]+(?: [\w-]+)*) -->\n[\s\S]*?<!-- \/table -->/g

/**
 * A document with its tables made anew.
 * @param {string} document
 * @param {Catalogue} catalogue
 */
export function withTables(document, catalogue) {
  return document.replace(TABLE, (_, /** @type {string} */ name) => {
    const [kind, ...argument] = name.split(' ')
    if (!Object.hasOwn(TABLES, kind)) throw new Error(`no table is called ${kind}: there is ${Object.keys(TABLES).join(', ')}`)
    return `<!-- table: ${name} -->\n\n${markdown(TABLES[kind](catalogue, argument.join(' ')))}\n\n<!-- /table -->`
  })
}

/** Rows of each table, the first of them its head. @type {Record<string, (catalogue: Catalogue, argument: string) => string[][]>} */
const TABLES = {
  rules: ({ ruleCatalogue }) => [
    ['rule', 'what it is', 'memory store', 'Redis, Valkey'],
    ...ruleCatalogue.map(({ call, summary }) => [code(call), summary, 'yes', 'yes']),
  ],
  'which-rule': ({ ruleCatalogue }) => [
    ['you want', 'use', 'most that can pass in one window, wherever it starts'],
    ...ruleCatalogue.map(({ purpose, call, worstCase }) => [purpose, code(call), worstCase]),
  ],
  options: ({ findRuleFacts }, algorithm) => {
    const facts = findRuleFacts(algorithm)
    if (facts === undefined) throw new Error(`no rule is called ${algorithm}`)
    return [
      ['option', 'type', 'default', 'meaning'],
      ...facts.options.map((option) => [code(option.name), typeOf(option), defaultOf(option), meaningOf(option)]),
    ]
  },
  names: ({ ruleCatalogue }) => [
    ['rule', 'default name, for example'],
    ...ruleCatalogue.map((facts) => [code(callOf(facts)), code(facts.make(/** @type {never} */ (facts.example)).name)]),
  ],
  states: ({ ruleCatalogue }) => {
    /** @type {Map<string, Set<string>>} */
    const callsOf = new Map()
    for (const { call, make, forms } of ruleCatalogue) {
      for (const form of Object.values(forms)) {
        const { algorithm } = make(/** @type {never} */ (form))
        callsOf.set(algorithm, (callsOf.get(algorithm) ?? new Set()).add(code(call)))
      }
    }
    return [
      ['algorithm', 'rules with such states'],
      ...[...callsOf].map(([algorithm, calls]) => [code(algorithm), [...calls].join(', ')]),
    ]
  },
  notation: ({ CALENDAR_UNITS, ruleCatalogue, readNotation }) => [
    ['element', 'values', 'default'],
    ['`algorithm`', list(ruleCatalogue), code(readNotation('1/s')[0].algorithm)],
    ['`limit`', 'a whole number ≥ 1', ''],
    ['`/` or `per`', '`per` has a space on either side; around `/` spaces are optional', ''],
    ['`count`', 'a whole number ≥ 1: how many of the unit', '1'],
    ['`unit`', 'see below', ''],
    ['`calendar`', `before ${CALENDAR_UNITS.map(code).join(', ')}, without a count: the calendar's, in UTC`, ''],
    ['`burst`', `only after ${list(ruleCatalogue.filter(({ rate }) => rate.burst !== undefined))}: the capacity`, '`limit`'],
  ],
  units: ({ NOTATION_UNITS }) => [
    ['unit', 'also', 'milliseconds'],
    ...NOTATION_UNITS.map(({ names: [unit, ...also], ms }) => [code(unit), also.map(code).join(', '), ms.toLocaleString('en')]),
  ],
  notations: (catalogue) => [
    ['notation', 'rule'],
    ...catalogue.ruleCatalogue.map((facts) => [code(notationOf(facts, catalogue)), code(callOf(facts))]),
  ],
  pages: ({ ruleCatalogue }) => [
    ['page', 'it is about'],
    ...ruleCatalogue.map(({ algorithm, title, summary }) => [
      `[${title}](../packages/sluice/src/algorithms/${algorithm}/README.md)`,
      summary,
    ]),
  ],
  specs: ({ ruleCatalogue }) => [
    ['`algorithm`', 'required', 'may be left out'],
    ...ruleCatalogue.map(({ algorithm, options }) => [
      code(algorithm),
      options
        .filter(isRequired)
        .map(({ name }) => code(name))
        .join(', '),
      [...options.filter((option) => !isRequired(option)).map(({ name }) => name), 'name'].map(code).join(', '),
    ]),
  ],
}

/** @param {OptionFacts} option */
function typeOf(option) {
  switch (option.kind) {
    case 'units':
      return 'whole number ≥ 1'
    case 'duration':
      return 'duration'
    case 'choice':
      return option.choices.map(([value]) => code(`'${value}'`)).join(', ')
    case 'flag':
      return 'boolean'
    case 'text':
      return option.takesNumbers ? 'text, or whole number' : 'text'
  }
}

/** @param {OptionFacts} option */
function defaultOf(option) {
  if (isRequired(option)) return 'required'
  if (option.kind === 'units') return code(String(option.sameAs))
  if (option.kind === 'text' && option.default === '') return ''
  return code(option.kind === 'choice' || option.kind === 'text' ? `'${option.default}'` : 'false')
}

/** @param {OptionFacts} option */
function isRequired(option) {
  if (option.kind === 'choice') return option.default === undefined
  return option.kind === 'duration' || (option.kind === 'units' && option.sameAs === undefined)
}

/** @param {OptionFacts} option */
function meaningOf({ help, deprecated }) {
  return deprecated === undefined ? help : `${help} Deprecated: ${deprecated}`
}

/** The example of a rule as a program writes it. @param {RuleFacts} facts */
function callOf({ call, example }) {
  const options = Object.entries(example).map(([name, value]) => `${name}: ${typeof value === 'string' ? `'${value}'` : value}`)
  return `${call}({ ${options.join(', ')} })`
}

/**
 * The example of a rule in notation.
 * @param {RuleFacts} facts
 * @param {Catalogue} catalogue
 */
function notationOf({ algorithm, example, rate }, { NOTATION_UNITS, readNotation }) {
  const options = /** @type {Record<string, string | number>} */ (example)
  if (rate.isCalendar) return `${options[rate.units]}/calendar ${options[rate.every]}`
  const [, count, unit] = /** @type {RegExpExecArray} */ (/^(\d+)([a-z]*)$/.exec(`${options[rate.every]}`))
  const names = NOTATION_UNITS.find(({ names }) => names.includes(unit || 'ms'))?.names ?? []
  // The last spelling is the plural of the longest.
  const word = count === '1' ? names.at(-2) : `${count} ${names.at(-1)}`
  const burst = rate.burst === undefined ? '' : ` burst ${options[rate.burst]}`
  const plain = `${options[rate.units]}/${word}${burst}`
  return readNotation(plain)[0].algorithm === algorithm ? plain : `${algorithm} ${plain}`
}

/** @param {readonly RuleFacts[]} rules */
function list(rules) {
  return rules.map(({ algorithm }) => code(algorithm)).join(', ')
}

/** @param {string} text */
function code(text) {
  return `\`${text}\``
}

/** @param {string[][]} rows */
function markdown([head, ...rows]) {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)))
  const line = (/** @type {string[]} */ row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n')
}
