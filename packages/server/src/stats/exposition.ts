// Writes metrics in the text format of Prometheus, version 0.0.4.
// Invariant: a label value never breaks a line, whatever it contains.

import type { Histogram } from './histogram.ts'

export type Labels = Readonly<Record<string, string>>
export type Sample = readonly [labels: Labels, value: number]

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** Prefix of every metric name. */
const PREFIX = 'sluice_'

const UNSAFE = /["\\\n]/g
const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n' }

export class Exposition {
  readonly #lines: string[] = []

  counter(name: string, help: string, samples: readonly Sample[] | number): this {
    return this.#family(name, help, 'counter', samples)
  }

  gauge(name: string, help: string, samples: readonly Sample[] | number): this {
    return this.#family(name, help, 'gauge', samples)
  }

  histogram(name: string, help: string, histograms: readonly (readonly [Labels, Histogram])[]): this {
    this.#head(name, help, 'histogram')
    for (const [labels, { bounds, counts, sum }] of histograms) {
      let below = 0
      counts.forEach((count, bucket) => {
        below += count
        this.#line(`${name}_bucket`, { ...labels, le: bucket < bounds.length ? String(bounds[bucket]) : '+Inf' }, below)
      })
      this.#line(`${name}_sum`, labels, sum)
      this.#line(`${name}_count`, labels, below)
    }
    return this
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`
  }

  #family(name: string, help: string, type: string, samples: readonly Sample[] | number): this {
    this.#head(name, help, type)
    for (const [labels, value] of typeof samples === 'number' ? [[{}, samples] as const] : samples)
      this.#line(name, labels, value)
    return this
  }

  #head(name: string, help: string, type: string): void {
    this.#lines.push(`# HELP ${PREFIX}${name} ${help}`, `# TYPE ${PREFIX}${name} ${type}`)
  }

  #line(name: string, labels: Labels, value: number): void {
    const written = Object.entries(labels).map(([label, text]) => `${label}="${text.replace(UNSAFE, (sign) => ESCAPES[sign])}"`)
    this.#lines.push(`${PREFIX}${name}${written.length === 0 ? '' : `{${written.join()}}`} ${number(value)}`)
  }
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return String(value)
}
