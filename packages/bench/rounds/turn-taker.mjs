// The process of an entrant that takes turns: imports the task, gets ready, and measures whenever its parent asks.
// It is no part of measure-in-turns.mjs, because tasks import that file: a file cannot wait for an import that waits for it.

/** @import { TurnTaker } from './measure-in-turns.mjs' */

const [taskFile, params] = process.argv.slice(2)
const { start } = await import(taskFile)
/** @type {TurnTaker} */
const taker = await start(JSON.parse(params))
process.on('message', async () => process.send?.(await taker.takeTurn()))
process.on('disconnect', async () => {
  await taker.close()
  process.exit()
})
process.send?.({})
