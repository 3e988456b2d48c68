// A set-up that looks wrong is said once, to whoever runs the program, and changes nothing.

export interface Warning<Code extends string = string> {
  readonly code: Code
  /** The problem, and the option that solves it. */
  readonly message: string
}

/** Warns through the process, or where there is none through the console. */
export function warnProcess({ code, message }: Warning): void {
  const { process } = globalThis as { process?: { emitWarning?: (message: string, options: object) => void } }
  if (typeof process?.emitWarning === 'function') process.emitWarning(message, { type: 'SluiceWarning', code })
  else console.warn(`${code}: ${message}`)
}
