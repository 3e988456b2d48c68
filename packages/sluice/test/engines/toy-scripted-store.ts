// A store on the scripted engine: a server that runs the definitions beside its data.

import { type ScriptedCall, scriptedStore } from '../../src/engines/index.ts'
import type { Figures, Rule, Store, TimerClock } from '../../src/index.ts'
import { definitionStore } from '../../src/testing/index.ts'

/** Stands for a server with a program. A real one is written in another language, and gets its calls as a message. */
export class ToyServer {
  readonly states: Store<'sync'>

  constructor(clock: TimerClock) {
    this.states = definitionStore(clock)
  }

  async run(calls: readonly ScriptedCall<readonly Rule[]>[]): Promise<readonly Figures[]> {
    return calls.map(({ operation, charges, hold, rules }) => {
      // `rules` are the rules of the charges, in the order of the charges.
      const numbered = charges.map((charge, rule) => ({ ...charge, rule }))
      return this.states.tally(rules).ask({ operation, charges: numbered, hold })
    })
  }
}

export function toyScriptedStore(server: ToyServer, clock: TimerClock): Store<'async'> {
  return scriptedStore<readonly Rule[]>({
    clock,
    most: 64,
    describe: (rules) => rules,
    execute: (_part, calls) => server.run(calls),
    clean: async () => server.states.clean(),
    size: async () => server.states.size,
  })
}
