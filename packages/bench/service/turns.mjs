// The turns of a server: requests for a fraction of a second, from the process that started it.

/** @import { TurnTaker } from '../rounds/measure-in-turns.mjs' */
/** @import { Timing } from './traffic.mjs' */

/** Turns of each server in a round. */
export const TURNS = 8

/** Connections are opened anew in each turn, before the time is taken. */
const TURN = { warmUpMs: 100, timedMs: 400 }

/**
 * Warms a server up.
 * @template {{ stop(): unknown }} S
 * @param {S} server
 * @param {Timing} timing
 * @param {(server: S, timing: Timing) => Promise<Record<string, number>>} ask
 * @returns {Promise<TurnTaker>}
 */
export async function turnsOf(server, timing, ask) {
  await ask(server, timing)
  return { takeTurn: () => ask(server, TURN), close: () => server.stop() }
}
