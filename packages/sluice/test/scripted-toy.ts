// A store on the scripted engine whose server is a map in this process, in as many parts as a test wants.

import type { Figures } from '../src/core/call.ts'
import type { TimerClock } from '../src/core/clock.ts'
import { SluiceError } from '../src/core/errors.ts'
import { type Rule, stateName } from '../src/core/rule.ts'
import { step } from '../src/core/step.ts'
import { LoadedStates } from '../src/engines/loaded-states.ts'
import { type ScriptedCall, type ScriptedStore, scriptedStore } from '../src/engines/scripted.ts'

export type ToyCall = ScriptedCall<readonly Rule[]>

export interface ToyOptions {
  readonly clock: TimerClock
  readonly most?: number
  /** Names the part of a key. Default: the store has no parts. */
  readonly partOf?: (key: string) => string
  /** Called before calls of a part are executed. What it throws is the answer to all of them. */
  readonly before?: (part: string, calls: readonly ToyCall[]) => unknown
  /** Called after calls of a part were executed, before they are answered. */
  readonly after?: (part: string, calls: readonly ToyCall[], answers: readonly Figures[]) => unknown
}

export function toyStore({ clock, most = 64, partOf, before, after }: ToyOptions): ScriptedStore {
  const states = new Map<string, Float64Array>()
  const decide = ({ operation, charges, rules }: ToyCall): Figures => {
    const places = charges.map((charge, place) => ({ ...charge, rule: place }))
    const nameOf = (place: number) => stateName(rules[place]) + charges[place].key
    const loaded = new LoadedStates({
      rules,
      charges: places,
      read: ({ rule }) => states.get(nameOf(rule)),
      write: ({ rule }, cells) => void (cells === undefined ? states.delete(nameOf(rule)) : states.set(nameOf(rule), cells)),
    })
    return step({ operation, charges: places }, loaded, clock.now())
  }
  return scriptedStore<readonly Rule[]>({
    clock,
    most,
    describe: (rules) => rules,
    async execute(part, calls) {
      await before?.(part, calls)
      const answers = calls.map(decide)
      await after?.(part, calls, answers)
      return answers
    },
    sortError: (thrown) =>
      thrown instanceof SluiceError ? thrown : new SluiceError('ERR_STORE_UNKNOWN', String(thrown), { cause: thrown }),
    ...(partOf !== undefined && { partOf }),
    size: async () => states.size,
  })
}
