// The fastest mode that the role may use: functions, or transactions if functions are neither there nor may be made. Rules without a
// translation run in transactions. Both modes share the table.

import type { Call, Figures } from '../../core/call.ts'
import type { Asker, Store, Tally } from '../../core/store.ts'
import { isLate, lateError, markUncounted } from '../../engines/late-calls.ts'
import { sortedError } from '../../engines/store-errors.ts'
import { functionMode } from './function-mode.ts'
import { postgresErrorKind } from './postgres-errors.ts'
import { isNotMade, type PostgresFunctions } from './postgres-functions.ts'
import { areTranslated } from './rule-numbers.ts'
import { type ModeOptions, transactionMode } from './transaction-mode.ts'

export function autoMode(options: ModeOptions, functions: PostgresFunctions): Store<'async'> {
  const byTransactions = transactionMode(options)
  const byFunctions = functionMode(options, functions)
  /** False from the moment on when the role turned out to have no functions. It is not asked again. */
  let mayHaveFunctions = true

  /** Resolves to true if there are functions. */
  async function findFunctions(): Promise<boolean> {
    try {
      await functions.ready()
    } catch (error) {
      if (!isNotMade(error)) throw sortedError(error, postgresErrorKind, 'refused')
      mayHaveFunctions = false
    }
    return mayHaveFunctions
  }

  function tally(rules: Parameters<Store['tally']>[0]): Tally<'async'> {
    const slow = byTransactions.tally(rules)
    if (!areTranslated(rules)) return slow
    const fast = byFunctions.tally(rules)
    const askLater = async (call: Call, asker?: Asker): Promise<Figures> => {
      markUncounted(asker)
      const chosen = (await findFunctions()) ? fast : slow
      if (isLate(asker)) throw lateError()
      return chosen.ask(call, asker)
    }
    return {
      ask(call, asker) {
        if (!mayHaveFunctions) return slow.ask(call, asker)
        return functions.names === undefined ? askLater(call, asker) : fast.ask(call, asker)
      },
    }
  }

  return {
    timing: 'async',
    clock: byTransactions.clock,
    guard: byTransactions.guard,
    tally,
    clean: () => byTransactions.clean(),
    get size() {
      return byTransactions.size
    },
    async close() {
      await Promise.all([byTransactions.close(), byFunctions.close()])
    },
  } as Store<'async'>
}
