// The scripted engine over Postgres: functions in the database decide, in one round trip for all calls of a turn.

import type { Store } from '../../core/store.ts'
import { BackgroundSweep } from '../../engines/background-sweep.ts'
import { scriptedStore } from '../../engines/scripted.ts'
import { SPARED_MS, Sweeper } from '../../engines/sweeper.ts'
import { PostgresBatch } from './postgres-batch.ts'
import { postgresErrorKind } from './postgres-errors.ts'
import type { PostgresFunctions } from './postgres-functions.ts'
import { describeRules, type RuleNumbers } from './rule-numbers.ts'
import { TableSweep } from './table-sweep.ts'
import { type ModeOptions, SWEPT_ROWS, sizeOf } from './transaction-mode.ts'

/** The most calls in one command. */
const MOST_CALLS = 64

/** The least calls that are worth a command of their own. */
const LEAST_OVERLAPPED = 8

export function functionMode(options: ModeOptions, functions: PostgresFunctions): Store<'async'> {
  const { connections, table, clock, isDurable, sweepEveryMs } = options
  const sweep = new TableSweep({ connections, table: () => table.ready(), nowMs: clock?.now })
  const background = new BackgroundSweep(sweepEveryMs, () => sweep.few({ rows: SWEPT_ROWS, endedForMs: SPARED_MS }))
  const sweeper = new Sweeper((bounds) => sweep.all(bounds))
  const batch = new PostgresBatch({ connections, table, functions, clock, isDurable, wrote: () => background.wrote() })
  return scriptedStore<RuleNumbers>({
    ...(clock && { clock }),
    most: MOST_CALLS,
    leastOverlapped: connections.isSingle ? undefined : LEAST_OVERLAPPED,
    describe: describeRules,
    execute: (_, calls) => batch.execute(calls),
    sortError: postgresErrorKind,
    clean: () => sweeper.all(),
    size: () => sizeOf(options),
    close: async () => background.stop(),
  })
}
