// Lets V8 compile process.nextTick before anything else is started. Every request over HTTP and gRPC runs it several times.
// Without this, V8 sees the objects of the first ticks in several forms while the service starts, in about every second process. Then
// it compiles a general form for good, and a tick takes 400 ns instead of 90 (Node 20).

import { setImmediate as endOfTurn } from 'node:timers/promises'

const TURNS = 10
const TICKS = 1000

/** Takes a few milliseconds. */
export async function compileTicks(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) {
    for (let i = 0; i < TICKS; i++) process.nextTick(nothing)
    await endOfTurn()
  }
}

function nothing(): void {}
