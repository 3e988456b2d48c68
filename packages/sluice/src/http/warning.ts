// Warnings about a configuration that looks wrong. A warning changes nothing else.

export interface Warning<Code extends string = string> {
  readonly code: Code
  /** The problem, and the option that solves it. */
  readonly message: string
}

/** Warns with `process.emitWarning`, or with the console if there is no process. */
export function warnProcess({ code, message }: Warning): void {
  const { process } = globalThis as { process?: { emitWarning?: (message: string, options: object) => void } }
  if (typeof process?.emitWarning === 'function') process.emitWarning(message, { type: 'SluiceWarning', code })
  else console.warn(`${code}: ${message}`)
}
