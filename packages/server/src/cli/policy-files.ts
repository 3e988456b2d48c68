// Policy files in the form of the configuration file, so that exported policies can be used with --config.

import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { ListedPolicy, PolicySpec } from 'sluice-client/node'
import { parse, stringify } from 'yaml'
import { parseConfigFile } from '../config/config-file.ts'
import type { Problem } from '../errors.ts'
import { type EnvoyFile, readEnvoyFile } from '../policies/envoy/envoy-file.ts'
import { policiesOf } from '../policies/envoy/envoy-policies.ts'
import { UsageError } from './exit-codes.ts'
import { print, type Terminal } from './terminal.ts'

/** Reads all policies of a file. Throws with all problems. */
export async function readPolicyFile(path: string, terminal: Terminal): Promise<readonly PolicySpec[]> {
  const tell = (message: string): void => print(terminal.stderr, message)
  const { policies } = parseConfigFile(path, await textOf(path, terminal), tell)
  if (policies.length === 0) throw new UsageError(`${path} has no policies: write them in a list called policies`)
  return policies.map(({ spec }) => asSent(spec))
}

/** The types of the client are written from the service's schema, and know a new rule one build later. */
function asSent(spec: unknown): PolicySpec {
  return spec as PolicySpec
}

/** Forms of files of other programs. */
export const IMPORT_FORMATS = ['envoy'] as const

export type ImportFormat = (typeof IMPORT_FORMATS)[number]

export interface Import {
  readonly specs: readonly PolicySpec[]
  /** Settings of the files that have no effect here, or another one. */
  readonly differences: readonly Problem[]
}

/** Reads all policies of several files. Throws with all problems. */
export async function readImport(paths: readonly string[], from: ImportFormat | undefined, terminal: Terminal): Promise<Import> {
  if (from === 'envoy') {
    const files: EnvoyFile[] = []
    for (const path of paths) files.push(readEnvoyFile(path, await textOf(path, terminal)))
    const { specs, differences } = policiesOf(files)
    if (specs.length === 0) throw new UsageError(`${paths.join(', ')} has no limits`)
    return { specs: specs.map(asSent), differences }
  }
  const specs: PolicySpec[] = []
  for (const path of paths) specs.push(...(await readPolicyFile(path, terminal)))
  return { specs, differences: [] }
}

/** Reads one policy from a file without validation. The service validates it. */
export async function readSpecFile(path: string, terminal: Terminal): Promise<Partial<PolicySpec>> {
  const written = await textOf(path, terminal)
  let spec: unknown
  try {
    spec = parse(written)
  } catch (error) {
    throw new UsageError(`${path} is neither YAML nor JSON: ${(error as Error).message}`)
  }
  if (spec === null || typeof spec !== 'object' || Array.isArray(spec)) throw new UsageError(`${path} must contain one policy`)
  return spec
}

export function writePolicies(policies: readonly ListedPolicy[]): string {
  return writeSpecs(policies.map(specOf))
}

export function writeSpecs(specs: readonly PolicySpec[]): string {
  // Double quotes, because in them YAML escapes control characters that could affect a terminal.
  return stringify({ policies: specs }, { defaultStringType: 'PLAIN', defaultKeyType: 'PLAIN', singleQuote: false, lineWidth: 0 })
}

/** Removes the fields that are not part of the spec. */
export function specOf({ source: _source, etag: _etag, expired: _expired, ...spec }: ListedPolicy): PolicySpec {
  return spec
}

function textOf(path: string, { stdin }: Terminal): Promise<string> {
  if (path === '-') return text(stdin)
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${path} cannot be read: ${(error as Error).message}`)
  })
}
