// Reads the YAML of the reference server as its own reader does: the type of a field decides, and not the form of a value.
// Invariant: a text is what stands in the file. As a number, `1.10` would become `1.1`, and `012` would become `12`: a limit for another value.

import { isAlias, isScalar, type Pair, parseDocument, Scalar, visit } from 'yaml'

/** Fields that are text. */
const TEXTS: readonly unknown[] = ['domain', 'key', 'value', 'name', 'unit']

/** Fields without a value are as if they were not there. */
const OPTIONAL: readonly unknown[] = ['descriptors', 'rate_limit', 'metadata', 'replaces']

/** Throws if the text is not one document of YAML. */
export function parseEnvoyYaml(text: string): unknown {
  const document = parseDocument(text, { merge: true })
  const [error] = document.errors
  if (error !== undefined) throw error
  visit(document, {
    Pair: (_, pair) => {
      const name = isScalar(pair.key) ? pair.key.value : undefined
      const value = isAlias(pair.value) ? pair.value.resolve(document) : pair.value
      if (!isScalar(value)) return undefined
      if (OPTIONAL.includes(name) && value.value === null) return visit.REMOVE
      if (TEXTS.includes(name)) (pair as Pair).value = new Scalar(textOf(value))
      return undefined
    },
  })
  return document.toJS()
}

/** Returns the text of a value as it is written. Nothing is the empty text. */
function textOf({ value, source }: Scalar): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : (source ?? String(value))
}
