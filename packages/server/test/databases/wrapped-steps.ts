// Wraps the steps of a database, for tests that strike between them.

import type { RecordsDatabase } from '../../src/backends/records/records-database.ts'

/** A step of the database: the name of its method. */
export type Step = keyof RecordsDatabase

export type Around = (step: Step, send: () => Promise<unknown>) => Promise<unknown>

export function wrappedSteps(database: RecordsDatabase, around: Around): RecordsDatabase {
  return new Proxy(database, {
    get(target, step: Step) {
      const value = target[step]
      if (typeof value !== 'function' || step === 'troubleOf') return value
      const method = value as (...args: unknown[]) => Promise<unknown>
      return (...args: unknown[]) => around(step, () => method.apply(target, args))
    },
  })
}
