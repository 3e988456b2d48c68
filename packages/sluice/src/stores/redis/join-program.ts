// Joins the texts of a Redis program. The build step hashes what this module joins, so that nothing is hashed at run time.

/** The texts that programs share, by the names of their files. */
export interface ProgramParts {
  readonly command: string
  readonly hits: string
  readonly generalHits: string
  readonly rulesOfRun: string
  readonly runOfHits: string
  readonly general: string
  readonly wholeNumbers: string
  readonly holds: string
  readonly calls: string
  readonly operations: string
  readonly heldStep: string
  readonly heldOperations: string
  readonly shortHolds: string
  readonly longWay: string
}

/** The texts of one translation. */
export interface TranslationParts {
  /** The short way, if there is one. */
  readonly shortWay: string
  /** The line that finds the short way of a rule and reads its parameters. */
  readonly findShortWay: string
  /** The function that makes the definition. */
  readonly definition: string
  /** The line that finds the definition of a rule and reads its parameters. */
  readonly findDefinition: string
}

/**
 * Returns a program with these translations. A small program decides hits that all have the same rules, the general one any calls.
 * The whole program runs with every command, and each function in it is made with every command. So a small program has no function
 * but the short ways, and makes the long way where it begins.
 */
export function joinProgram(parts: ProgramParts, translations: readonly TranslationParts[], kind: 'small' | 'general'): string {
  const isGeneral = kind === 'general'
  const longWay = functionOf('defineCalls(names, nowMs, graceMs)', [
    parts.wholeNumbers,
    parts.holds,
    ...translations.map(({ definition }) => definition),
    functionOf('translationOf(list, at)', [
      'local name = list[at + 1]',
      ...translations.map(({ findDefinition }) => findDefinition),
    ]),
    parts.calls,
    isGeneral ? parts.operations : '',
    parts.heldStep,
    isGeneral ? parts.heldOperations : '',
    parts.longWay,
  ])
  const rulesOfRun = parts.rulesOfRun.replace('--@shortWays', () => linesOf(translations.map(({ findShortWay }) => findShortWay)))
  const runOfHits = parts.runOfHits.replace('--@longWay\n', () => (isGeneral ? '' : `${longWay}\n`))
  return linesOf([
    parts.command,
    ...translations.map(({ shortWay }) => shortWay),
    ...(isGeneral
      ? [
          longWay,
          functionOf('shortWayOf(list, listAt, ruleCount)', [rulesOfRun, 'return way, a, b, c, d, e, f']),
          'local longWay',
          parts.shortHolds,
          functionOf('runOfHits(set, ruleCount, first, count, amount)', [parts.generalHits, rulesOfRun, runOfHits]),
          parts.general,
        ]
      : [parts.hits, rulesOfRun, runOfHits]),
  ])
}

function functionOf(nameAndParameters: string, texts: readonly string[]): string {
  return linesOf([`local function ${nameAndParameters}`, ...texts, 'end'])
}

function linesOf(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}
