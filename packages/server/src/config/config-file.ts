// Reads the configuration file: options and policies, in YAML or JSON.
// Invariant: every problem is reported with its line, and a file with any problem is not used.

import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import Type, { type TSchema } from 'typebox'
import { isNode, LineCounter, parseDocument } from 'yaml'
import { messageOf, type Problem, ServerError } from '../errors.ts'
import { problemsIn, refuse, within } from '../input/check-input.ts'
import { layerProblems } from '../policies/layer-count.ts'
import { type Policy, readPolicies } from '../policies/policy.ts'
import { PolicySpecSchema } from '../policies/policy-schema.ts'
import { OPTION_NAMES, OPTIONS, type OptionName } from './options.ts'

/** Schema of the file, for editors. */
export const ConfigFileSchema = fileSchema(PolicySpecSchema)

/** Text of config.schema.json. The script packages/server/scripts/write-config-schema.mjs writes it. */
export function publishedSchema(): string {
  return `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...ConfigFileSchema }, null, 2)}\n`
}

/** Schema for validation. Policies are validated one by one, so they are unknown here. */
const FileSchema = fileSchema(Type.Unknown())

function fileSchema(policy: TSchema): TSchema {
  const options = OPTION_NAMES.map((name) => {
    const { about, schema, default: written } = OPTIONS[name]
    const notes = { description: about, ...(written === undefined ? {} : { default: written }) }
    return [name, Type.Optional({ ...schema, ...notes } as TSchema)]
  })
  return Type.Object(
    {
      $schema: Type.Optional(Type.String({ description: 'The location of this schema, for editors.' })),
      ...Object.fromEntries(options),
      policies: Type.Optional(
        Type.Array(policy, { title: 'a list of policies', description: 'Policies. The API cannot change these.' }),
      ),
    },
    { additionalProperties: false, title: 'The configuration of sluice' },
  )
}

export interface ConfigFile {
  readonly path: string
  /** The file's stamp (see `stampOf`) when it was read. */
  readonly stamp: string
  /** Values as written in the file. */
  readonly options: Readonly<Partial<Record<OptionName, unknown>>>
  readonly policies: readonly Policy[]
}

export interface ReadOptions {
  /** Skips policies, which may be many. */
  readonly withoutPolicies?: boolean
  /** Called with a message before slow work. */
  readonly tell?: (message: string) => void
}

/** YAML of this length takes about a second to parse. */
const SLOW_YAML_CHARACTERS = 500_000

/** Throws ERR_CONFIG with all problems. */
export async function readConfigFile(path: string, { withoutPolicies = false, tell }: ReadOptions = {}): Promise<ConfigFile> {
  const stamp = await stampOf(path)
  try {
    const text = await readFile(path, 'utf8')
    return { path, stamp, ...(withoutPolicies ? parseOptions(path, text) : parseConfigFile(path, text, tell)) }
  } catch (cause) {
    if (cause instanceof ServerError) throw cause
    throw new ServerError('ERR_CONFIG', `the configuration file ${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

/** Returns a text that changes when the file changes; empty if there is no file. */
export async function stampOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join(' ')
  } catch {
    return ''
  }
}

/** Parses the text of a file. Throws ERR_CONFIG with all problems. */
export function parseConfigFile(
  path: string,
  text: string,
  tell?: (message: string) => void,
): Pick<ConfigFile, 'options' | 'policies'> {
  if (text.length >= SLOW_YAML_CHARACTERS && extname(path) !== '.json') {
    tell?.(`Reading ${path}, ${(text.length / 1e6).toFixed(1)} MB of YAML. JSON would be read many times faster.`)
  }
  const { options, policies, lineOf } = parseContent(path, text)
  try {
    const read = readPolicies(policies, 'file', 'policies')
    refuse(
      'policies',
      layerProblems(read, (index) => within('policies', index)),
    )
    return { options, policies: read }
  } catch (error) {
    if (!(error instanceof ServerError)) throw error
    throw refused(path, error.problems, lineOf)
  }
}

/** Parses only the options. Policies are removed from YAML before parsing, because parsing them is slow; see `withoutBlock`. */
function parseOptions(path: string, text: string): Pick<ConfigFile, 'options' | 'policies'> {
  try {
    return { options: parseContent(path, withoutBlock(text, 'policies')).options, policies: [] }
  } catch {
    // The rest may not be valid YAML by itself. Parse the whole text, which also gives the right line numbers.
    return { options: parseContent(path, text).options, policies: [] }
  }
}

/** Returns options, and policies as written. */
function parseContent(path: string, text: string) {
  const { value, lineOf } = extname(path) === '.json' ? parseJson(path, text) : parseYaml(path, text)
  // An empty file is valid.
  const content = value ?? {}
  const problems = problemsIn(FileSchema, content)
  if (problems.length > 0) throw refused(path, problems, lineOf)
  const { $schema: _, policies = [], ...options } = content as Record<string, unknown> & { policies?: unknown[] }
  return { options, policies, lineOf }
}

/** Removes one top-level block from YAML: from the line that names it to the next line that starts with another name. */
function withoutBlock(text: string, name: string): string {
  let isInside = false
  const kept = text.split('\n').filter((line) => {
    if (line.startsWith(`${name}:`)) isInside = true
    else if (/^[A-Za-z$"']/.test(line)) isInside = false
    return !isInside
  })
  return kept.join('\n')
}

interface Parsed {
  readonly value: unknown
  /** Returns the line of a path such as `rules[0].limit`; 0 if unknown. */
  readonly lineOf: (at: string) => number
}

/** Many times faster than YAML. For generated files. */
function parseJson(path: string, text: string): Parsed {
  try {
    return { value: JSON.parse(text), lineOf: () => 0 }
  } catch (cause) {
    throw new ServerError('ERR_CONFIG', `${path} is not JSON: ${messageOf(cause)}`, { cause })
  }
}

function parseYaml(path: string, text: string): Parsed {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [error] = document.errors
  if (error !== undefined) {
    throw new ServerError('ERR_CONFIG', `${path}:${lines.linePos(error.pos[0]).line}: is not YAML: ${error.message}`, {
      cause: error,
    })
  }
  const lineOf = (at: string): number => {
    // A missing value has no position, so its parent's position is used.
    for (let steps = stepsTo(at); ; steps = steps.slice(0, -1)) {
      const node = document.getIn(steps, true)
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
      if (steps.length === 0) return 0
    }
  }
  return { value: document.toJS(), lineOf }
}

/** Splits `rules[0].limit` into rules, 0, limit. */
function stepsTo(at: string): (string | number)[] {
  return [...at.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([name, index]) => (index === undefined ? name : Number(index)))
}

function refused(path: string, problems: readonly Problem[], lineOf: (at: string) => number): ServerError {
  const placed = problems.map(({ at, message }) => {
    const line = lineOf(at)
    return { at, message: `${path}${line === 0 ? '' : `:${line}`}: ${message}` }
  })
  const more = placed.length === 1 ? '' : ` (and ${placed.length - 1} more)`
  return new ServerError('ERR_CONFIG', `${placed[0].message}${more}`, { problems: placed })
}
