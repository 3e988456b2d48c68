// The board of the fleet in a SQL database: one row for each instance.

import { type FleetBoard, FORGOTTEN_MS, MOST_INSTANCES } from '../../fleet/fleet-board.ts'
import { textOf } from './record-state.ts'
import { ask, fromSafeText, type Program, type SqlDriver, safeText } from './sql-program.ts'

export function sqlFleet(driver: SqlDriver): FleetBoard {
  const { nowMs } = driver
  return {
    publish: (id, text) => driver.transact('own', () => publish(nowMs, safeText(id), text)),
    async read() {
      const rows = await driver.transact('read', () =>
        ask(`SELECT id, text, ${nowMs} - at_ms AS age FROM sluice_fleet WHERE at_ms >= ${nowMs} - ?`, FORGOTTEN_MS),
      )
      return rows.map(({ id, text, age }) => ({
        id: fromSafeText(textOf(id)),
        text: textOf(text),
        ageMs: Math.max(0, Number(age)),
      }))
    },
  }
}

function* publish(nowMs: string, id: string, text: string): Program<void> {
  yield* ask(
    `INSERT INTO sluice_fleet (id, at_ms, text) VALUES (?, ${nowMs}, ?)
      ON CONFLICT (id) DO UPDATE SET at_ms = excluded.at_ms, text = excluded.text`,
    id,
    text,
  )
  yield* ask(`DELETE FROM sluice_fleet WHERE at_ms < ${nowMs} - ?`, FORGOTTEN_MS)
  const rows = yield* ask(`SELECT id FROM sluice_fleet ORDER BY at_ms DESC, id LIMIT 10 OFFSET ${MOST_INSTANCES}`)
  for (const row of rows) yield* ask('DELETE FROM sluice_fleet WHERE id = ?', textOf(row.id))
}
