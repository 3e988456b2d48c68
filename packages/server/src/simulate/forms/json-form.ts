// JSON lines: one object in each line. A field of an inner object is called by its path, such as request.remote_ip.

import { type LogBytes, textOf } from './log-bytes.ts'
import { type LogForm, NO_REQUEST } from './log-form.ts'

export class JsonForm implements LogForm {
  readonly #names: string[] = []
  readonly #paths: (readonly string[])[] = []
  #object: Readonly<Record<string, unknown>> = {}

  begin(): void {}

  find(field: string): number {
    this.#names.push(field)
    return this.#paths.push(field.split('.')) - 1
  }

  parse(line: LogBytes, from: number, to: number): string | undefined {
    if (from === to) return NO_REQUEST
    let value: unknown
    try {
      value = JSON.parse(textOf(line, from, to))
    } catch {
      return 'it is not JSON'
    }
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return 'it is not a JSON object'
    this.#object = value as Record<string, unknown>
    return undefined
  }

  value(index: number): string {
    const name = this.#names[index]
    // A key may itself contain a dot.
    if (Object.hasOwn(this.#object, name)) return written(this.#object[name])
    const path = this.#paths[index]
    if (path.length === 1) return ''
    let value: unknown = this.#object
    for (const key of path) {
      if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return ''
      value = (value as Record<string, unknown>)[key]
    }
    return written(value)
  }
}

function written(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}
