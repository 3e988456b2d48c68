// The in-place engine: the definitions run in this process, on states that a synchronous store hands over.

import type { Call } from '../core/call.ts'
import type { TimerClock } from '../core/clock.ts'
import { type Rule, stateName } from '../core/rule.ts'
import { step } from '../core/step.ts'
import type { Store, Tally } from '../core/store.ts'
import { type Cells, LoadedStates } from './loaded-states.ts'

export interface InPlaceOptions {
  readonly clock: TimerClock
  /** Reads the cells of a state. They are copied before they are changed. */
  read(name: string): Cells
  /** Keeps the cells of a state until `cells[0]`, in ms since the epoch. Drops the state if there are none. */
  write(name: string, cells: Cells): void
  /** Drops states that have ended; returns how many. */
  clean(nowMs: number): number
  /** Number of states. */
  size(): number
  close?(): void
}

/** A synchronous store from a place to keep states in. */
export function inPlaceStore(options: InPlaceOptions): Store<'sync'> {
  const { clock } = options
  return {
    timing: 'sync',
    clock,
    tally: (rules) => tallyOf(options, rules),
    clean: () => options.clean(clock.now()),
    get size() {
      return options.size()
    },
    close: () => options.close?.(),
  }
}

function tallyOf(options: InPlaceOptions, rules: readonly Rule[]): Tally<'sync'> {
  const starts = rules.map((rule) => JSON.stringify(stateName(rule)))
  return {
    ask({ operation, charges }: Call) {
      const states = new LoadedStates({
        rules,
        charges,
        read: ({ rule, key }) => options.read(starts[rule] + key),
        write: ({ rule, key }, cells) => options.write(starts[rule] + key, cells),
      })
      return step({ operation, charges }, states, options.clock.now())
    },
  }
}
