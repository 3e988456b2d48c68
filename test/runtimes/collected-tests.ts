// A test runner for runtimes without one: collects tests, and runs them one after another.

import type { TestRunner } from '../../packages/sluice/src/testing/index.ts'

export interface Outcome {
  readonly passed: number
  /** Names of failed tests with their errors. */
  readonly failed: readonly string[]
}

export class CollectedTests implements TestRunner {
  readonly #path: string[] = []
  readonly #tests: { readonly name: string; readonly body: () => Promise<void> }[] = []

  readonly describe = (name: string, body: () => void): void => {
    this.#path.push(name)
    body()
    this.#path.pop()
  }

  readonly test = (name: string, body: () => Promise<void>): void => {
    this.#tests.push({ name: [...this.#path, name].join(' > '), body })
  }

  async run(): Promise<Outcome> {
    const failed: string[] = []
    for (const { name, body } of this.#tests) {
      try {
        await body()
      } catch (error) {
        failed.push(`${name}: ${error instanceof Error ? error.stack : error}`)
      }
    }
    return { passed: this.#tests.length - failed.length, failed }
  }
}
