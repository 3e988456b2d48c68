// A store on the scripted engine whose server is a map in this process, in as many parts as a test wants.

import type { Figures } from '../src/core/call.ts'
import type { TimerClock } from '../src/core/clock.ts'
import { type Rule, stateName } from '../src/core/rule.ts'
import type { Store } from '../src/core/store.ts'
import { runCall } from '../src/engines/loaded-states.ts'
import { MOVED, type ScriptedCall, scriptedStore } from '../src/engines/scripted.ts'

export type ToyCall = ScriptedCall<readonly Rule[]>

export interface ToyOptions {
  readonly clock: TimerClock
  readonly most?: number
  readonly leastOverlapped?: number | undefined
  /** Names the part of a key. Default: the store has no parts. */
  readonly partOf?: (key: string) => string
  /** Names the smallest part of a key. */
  readonly exactPartOf?: (key: string) => string
  /** False if the states of a key are not in the part. Default: they are where `partOf` says. */
  readonly isIn?: (part: string, key: string) => boolean
  /** False while the store would refuse commands. Default: always true. */
  readonly isOpen?: () => boolean
  /** Called before calls of a part are executed. If it throws, all of them fail. */
  readonly before?: (part: string, calls: readonly ToyCall[]) => unknown
  /** Called after calls of a part were executed, before they are answered. */
  readonly after?: (part: string, calls: readonly ToyCall[], answers: readonly (Figures | typeof MOVED)[]) => unknown
}

export function toyStore({
  clock,
  most = 64,
  leastOverlapped,
  partOf,
  exactPartOf,
  isIn,
  isOpen,
  before,
  after,
}: ToyOptions): Store<'async'> {
  const states = new Map<string, Float64Array>()
  const decide = ({ operation, charges, hold, rules }: ToyCall): Figures => {
    const places = charges.map((charge, place) => ({ ...charge, rule: place }))
    const nameOf = (place: number) => stateName(rules[place]) + charges[place].key
    const named = { call: { operation, charges: places, hold }, rules, names: places.map(({ rule }) => nameOf(rule)) }
    const { figures, changes } = runCall(named, (name) => states.get(name), clock.now())
    for (const { name, cells } of changes) {
      if (cells === undefined) states.delete(name)
      else states.set(name, cells)
    }
    return figures
  }
  return scriptedStore<readonly Rule[]>({
    clock,
    most,
    leastOverlapped,
    describe: (rules) => rules,
    async execute(part, calls) {
      await before?.(part, calls)
      const isHere = ({ charges }: ToyCall) => charges.every(({ key }) => isIn?.(part, key) ?? true)
      const answers = calls.map((call) => (isHere(call) ? decide(call) : MOVED))
      await after?.(part, calls, answers)
      return answers
    },
    ...(isOpen !== undefined && { isOpen }),
    ...(partOf !== undefined && { partOf }),
    ...(exactPartOf !== undefined && { exactPartOf }),
    size: async () => states.size,
  })
}
