// The output of `config print`: every option, its value and its origin. Passwords are hidden.

import type { LoadedConfig } from './config.ts'
import { OPTION_NAMES, OPTIONS } from './options.ts'

export interface PrintedOption {
  readonly name: string
  readonly value: unknown
  readonly origin: string
}

/** Output for programs. */
export function printableConfig({ written }: LoadedConfig): readonly PrintedOption[] {
  return OPTION_NAMES.map((name) => {
    const { value, origin } = written[name]
    const { show } = OPTIONS[name]
    return { name, value: typeof value === 'string' && show !== undefined ? show(value) : (value ?? null), origin }
  })
}

/** Output for people: one line for each option, in valid YAML. */
export function printConfig(loaded: LoadedConfig): string {
  const lines = printableConfig(loaded).map(({ name, value, origin }) => ({
    left: `${value === null ? '# ' : ''}${name}: ${value === null ? '' : JSON.stringify(value)}`.trimEnd(),
    origin,
  }))
  const width = Math.max(...lines.map(({ left }) => left.length))
  const policies = loaded.file === undefined ? [] : [`# and ${loaded.file.policies.length} policies from ${loaded.file.path}`]
  return [...lines.map(({ left, origin }) => `${left.padEnd(width)}  # ${origin}`), ...policies, ''].join('\n')
}
