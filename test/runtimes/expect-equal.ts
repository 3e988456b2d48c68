// A comparison for tests in runtimes without a test runner.

/** Throws unless both values have the same JSON. Infinity and undefined are written as texts. */
export function expectEqual(what: string, got: unknown, expected: unknown): void {
  if (textOf(got) !== textOf(expected)) throw new Error(`${what}: expected ${textOf(expected)}, got ${textOf(got)}`)
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each === undefined || each === Number.POSITIVE_INFINITY ? String(each) : each))
}

/** Returns the code of the error that a promise rejects with. */
export async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
    return 'no error'
  } catch (error) {
    return (error as { readonly code?: unknown }).code ?? String(error)
  }
}
