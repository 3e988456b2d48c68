// Loads the configuration: flags override environment, environment overrides file, file overrides defaults. Every value keeps its origin.

import { resolve } from 'node:path'
import { type Problem, ServerError } from '../errors.ts'
import { problemsIn } from '../input/check-input.ts'
import { nearest, show, suggest } from '../input/near-word.ts'
import { isLocal, MOST_SOCKET_BYTES, showListen } from './addresses.ts'
import { type ConfigFile, type ReadOptions, readConfigFile } from './config-file.ts'
import {
  CONFIG_FLAG,
  type Config,
  flagOf,
  isAuthenticated,
  listenAddresses,
  OPTION_NAMES,
  OPTIONS,
  type OptionName,
  variableOf,
} from './options.ts'

export type { ListenAddress } from './addresses.ts'
export type { Config } from './options.ts'
export type { StoreAddress } from './store-address.ts'

export interface ConfigSources extends ReadOptions {
  /** Values by option name, from the command line. `true` for a flag without a value. */
  readonly flags?: Readonly<Record<string, string | boolean | undefined>>
  readonly env?: Readonly<Record<string, string | undefined>>
}

export interface LoadedConfig {
  readonly config: Config
  /** Each value in its written form, with its origin. */
  readonly written: Readonly<Record<OptionName, Written>>
  /** The file and its policies, if there is one. */
  readonly file: ConfigFile | undefined
}

export interface Written {
  readonly value: unknown
  /** For example `default`, `file sluice.yaml`, `environment SLUICE_LISTEN`, `flag --listen`. */
  readonly origin: string
}

/** Throws ERR_CONFIG with all problems. */
export async function loadConfig({ flags = {}, env = {}, ...reading }: ConfigSources = {}): Promise<LoadedConfig> {
  const problems = [...unknownFlags(flags), ...nearVariables(env)]
  const path = flags.config ?? env[variableOf('config')]
  const file = typeof path === 'string' ? await readConfigFile(resolve(path), reading) : undefined
  const written: Partial<Record<OptionName, Written>> = {}
  const config: Partial<Record<OptionName, unknown>> = {}
  for (const name of OPTION_NAMES) {
    const found = find(name, flags, env, file)
    const value = readOption(name, found, problems)
    written[name] = found
    config[name] = value
  }
  if (problems.length === 0)
    problems.push(...longSockets(config as unknown as Config), ...contradictions(config as unknown as Config))
  if (problems.length > 0) {
    const more = problems.length === 1 ? '' : ` (and ${problems.length - 1} more)`
    throw new ServerError('ERR_CONFIG', `${problems[0].message}${more}`, { problems })
  }
  return { config: config as unknown as Config, written: written as Record<OptionName, Written>, file }
}

function find(name: OptionName, flags: ConfigSources['flags'] & {}, env: ConfigSources['env'] & {}, file?: ConfigFile): Written {
  const flag = flags[name]
  if (flag !== undefined) return { value: fromText(name, flag), origin: `flag ${flagOf(name)}` }
  const variable = env[variableOf(name)]
  if (variable !== undefined) return { value: fromText(name, variable), origin: `environment ${variableOf(name)}` }
  if (file !== undefined && Object.hasOwn(file.options, name)) {
    return { value: file.options[name], origin: `file ${file.path}` }
  }
  return { value: OPTIONS[name].default, origin: 'default' }
}

/** Converts text of a flag or variable to the type of the option. Text that cannot be converted stays text, and validation refuses it. */
function fromText(name: OptionName, text: string | boolean): unknown {
  if (typeof text === 'boolean') return text
  switch ((OPTIONS[name].schema as { type?: string }).type) {
    case 'integer':
      return /^\d+$/.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
      return text.split(',').flatMap((part) => part.trim() || [])
    default:
      return text
  }
}

function readOption(name: OptionName, { value, origin }: Written, problems: Problem[]): unknown {
  if (value === undefined) return undefined
  const { schema, read, show: hide } = OPTIONS[name]
  const found = problemsIn(schema, value, name)
  const result = found.length > 0 || read === undefined ? value : read(value as never)
  if (found.length === 0 && result !== undefined) return result
  const seen = typeof value === 'string' && hide !== undefined ? hide(value) : value
  const message = `${name} must be ${(schema as { title?: string }).title}, got ${Array.isArray(seen) ? seen.join(',') : show(seen)}`
  problems.push({ at: name, message: `${found[0]?.message ?? message} (${origin})` })
  return undefined
}

function unknownFlags(flags: ConfigSources['flags'] & {}): Problem[] {
  const known = [CONFIG_FLAG.name, ...OPTION_NAMES]
  return Object.keys(flags)
    .filter((name) => !known.includes(name))
    .map((name) => ({ at: name, message: `no flag is called ${flagOf(name)}: ${suggest(flagOf(name), known.map(flagOf))}` }))
}

/**
 * Refuses variables that look like a misspelt option. Not every variable that begins with SLUICE_ is ours: Kubernetes sets
 * SLUICE_PORT and SLUICE_SERVICE_HOST for a service of that name.
 */
function nearVariables(env: ConfigSources['env'] & {}): Problem[] {
  const known = [CONFIG_FLAG.name, ...OPTION_NAMES].map(variableOf)
  return Object.keys(env).flatMap((name) => {
    if (!name.startsWith('SLUICE_') || known.includes(name)) return []
    const near = nearest(
      name.slice(7),
      known.map((variable) => variable.slice(7)),
    )
    return near === undefined ? [] : [{ at: name, message: `no option is set by ${name}: did you mean SLUICE_${near}?` }]
  })
}

/** Refuses socket paths that the system would cut off. */
function longSockets(config: Config): Problem[] {
  return listenAddresses(config).flatMap(([at, address]) => {
    const bytes = 'socket' in address ? Buffer.byteLength(address.socket) : 0
    if (bytes <= MOST_SOCKET_BYTES) return []
    const message = `${at} is a socket file whose path has ${bytes} bytes: this system takes at most ${MOST_SOCKET_BYTES}`
    return [{ at, message }]
  })
}

/** Finds options that contradict each other. */
function contradictions(config: Config): Problem[] {
  const { insecureAllowUnauthenticated, tlsCert, tlsKey, rls, rlsClientCa } = config
  const addresses = listenAddresses(config)
  const problems: Problem[] = []
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    const [given, missing] = tlsCert === undefined ? ['tlsKey', 'tlsCert'] : ['tlsCert', 'tlsKey']
    problems.push({ at: missing, message: `${given} is given without ${missing}: TLS needs both` })
  }
  if (rlsClientCa !== undefined && (rls === undefined || tlsCert === undefined)) {
    const missing = rls === undefined ? 'rls' : 'tlsCert'
    problems.push({ at: 'rlsClientCa', message: `rlsClientCa is given without ${missing}: client certificates need it` })
  }
  for (const [at, address] of addresses) {
    if (isLocal(address) || isAuthenticated(at, config) || insecureAllowUnauthenticated) continue
    const message = `${at} is ${showListen(address)}, which others can reach, and no API key is required: set keysRequired, listen on 127.0.0.1, or set insecureAllowUnauthenticated if you accept that`
    problems.push({ at, message })
  }
  for (const [i, [at, address]] of addresses.entries()) {
    const same = addresses.slice(0, i).find(([, other]) => showListen(other) === showListen(address))
    if (same === undefined || ('port' in address && address.port === 0)) continue
    const message = `${at} is ${showListen(address)}, the same as ${same[0]}: leave it out, or choose another address`
    problems.push({ at, message })
  }
  return problems
}
