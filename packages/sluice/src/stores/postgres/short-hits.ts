// The short way of hits on one fixed window: a prepared statement decides all hits of a command that fit, in a fraction of the time of
// the functions. It charges keys whose window is live and has units left, and keys that nobody has hit. All other hits go to a function.
// Invariants: the statement changes only states that fixed-window.ts would change in the same way. It locks rows in the order of their
// names. Its time was read before it waited for rows. So it leaves a window that was opened later to the function.

import type { Figures } from '../../core/call.ts'
import type { Rule } from '../../core/rule.ts'
import { sha256 } from '../../engines/sha256.ts'
import type { PostgresCommand } from './postgres-command.ts'
import { NOW_MS } from './postgres-statements.ts'
import { LOCK_MS } from './transaction-mode.ts'

export interface Prepared {
  readonly name: string
  readonly text: string
}

/** The numbers of a rule whose hits have the short way. */
export interface ShortRule {
  readonly limit: number
  readonly windowMs: number
}

/** Returns the numbers of the rule, if its hits have the short way. */
export function shortRuleOf(rules: readonly Rule[]): ShortRule | undefined {
  const [{ algorithm, parameters }] = rules
  const { limit, windowMs, isOnClock, elastic } = parameters
  if (rules.length > 1 || algorithm !== 'fixed-window' || isOnClock || elastic) return undefined
  return { limit: Number(limit), windowMs: Number(windowMs) }
}

export class ShortHits {
  readonly #command: PostgresCommand
  readonly #rule: ShortRule
  /** The cost of all hits on a row. If it fits, each of them fits. */
  readonly #costs: ReadonlyMap<string, number>

  private constructor(command: PostgresCommand, rule: ShortRule) {
    const costs = new Map<string, number>()
    for (const name of command.names) costs.set(name, 0)
    for (const [i, { charges }] of command.calls.entries()) {
      const name = command.chargeNames[i]
      costs.set(name, (costs.get(name) as number) + charges[0].amount)
    }
    this.#command = command
    this.#rule = rule
    this.#costs = costs
  }

  /** Undefined if the command has other calls than hits on one rule with the short way. */
  static of(command: PostgresCommand): ShortHits | undefined {
    const [{ rules }] = command.calls
    if (rules.short === undefined) return undefined
    for (const call of command.calls) if (call.operation !== 'hit' || call.rules !== rules) return undefined
    return new ShortHits(command, rules.short)
  }

  /** True if one row is enough. The statement for one row does not compare the cost with the limit. */
  get isOne(): boolean {
    const { names } = this.#command
    return names.length === 1 && (this.#costs.get(names[0]) as number) <= this.#rule.limit
  }

  /** Returns the parameters of the statement. */
  parameters(nowMs: number | undefined): string[] {
    const { limit, windowMs } = this.#rule
    const parameters = [this.#command.names.join(' '), `{${[...this.#costs.values()].join()}}`, String(limit), String(windowMs)]
    if (nowMs !== undefined) parameters.push(String(nowMs))
    return parameters
  }

  /** Reads the answer of the statement. Returns the figures of each call; undefined for a call that must go to a function. */
  read(text: unknown): (Figures | undefined)[] {
    const words = typeof text === 'string' ? text.split(' ') : []
    const { names, calls, chargeNames } = this.#command
    const rows = new Map<string, { used: number; readonly resetAfterMs: number }>()
    for (let i = 0; i + 2 < words.length; i += 3) {
      // A new window may have ended while its row was waited for. Its hits belong to it all the same.
      rows.set(words[i], {
        used: Number(words[i + 1]) - (this.#costs.get(words[i]) ?? 0),
        resetAfterMs: Math.max(1, Number(words[i + 2])),
      })
    }
    if (rows.size > names.length) throw new Error(`the statement returned ${rows.size} rows where ${names.length} belong`)
    return calls.map(({ charges }, i) => {
      const row = rows.get(chargeNames[i])
      if (row === undefined) return undefined
      row.used += charges[0].amount
      return [row.used, 0, row.resetAfterMs]
    })
  }
}

export interface StatementOptions {
  /** Name of the table, in quotes. */
  readonly table: string
  readonly isDurable: boolean
  /** True if the last parameter is the time. Otherwise the server's clock counts. */
  readonly isTimed: boolean
}

/** The statement for one row. */
export function statementOfOne(options: StatementOptions): Prepared {
  const { table } = options
  const { nowMs, settings } = startOf(options)
  return prepared(`INSERT INTO ${table} AS kept (name, value, ends_at)
SELECT $1, ARRAY[started.now_ms + $4::pg_catalog.int8, ($2::pg_catalog.float8[])[1]]::pg_catalog.float8[], started.now_ms + $4::pg_catalog.int8
FROM (SELECT ${nowMs} AS now_ms WHERE ${settings.join(' AND ')} OFFSET 0) AS started
${chargeLiveWindow(nowMs)}
RETURNING pg_catalog.concat(kept.name, ' ', kept.value[2]::pg_catalog.int8, ' ', kept.ends_at - ${nowMs})`)
}

/** The statement for any number of rows. */
export function statementOfMany(options: StatementOptions): Prepared {
  const { table } = options
  const { nowMs, settings } = startOf(options)
  return prepared(`WITH started AS MATERIALIZED (
SELECT ${nowMs} AS now_ms WHERE ${settings.join(' AND ')}
), charged AS (
INSERT INTO ${table} AS kept (name, value, ends_at)
SELECT given.name, ARRAY[started.now_ms + $4::pg_catalog.int8, given.cost]::pg_catalog.float8[], started.now_ms + $4::pg_catalog.int8
FROM started, ROWS FROM (pg_catalog.string_to_table($1, ' '), pg_catalog.unnest($2::pg_catalog.float8[])) AS given (name, cost)
WHERE given.cost <= $3::pg_catalog.float8
${chargeLiveWindow(nowMs)}
RETURNING kept.name, kept.value[2]::pg_catalog.int8 AS used, kept.ends_at
)
SELECT pg_catalog.string_agg(pg_catalog.concat(charged.name, ' ', charged.used, ' ', charged.ends_at - started.now_ms), ' ')
FROM started, charged`)
}

/**
 * A new window ends one window after the time of the statement. So `excluded.ends_at` tells that time. The end of the window is compared
 * with a time that is read when the row is locked: a window that has ended during the wait is left to the function.
 */
function chargeLiveWindow(nowMs: string): string {
  return `ON CONFLICT (name) DO UPDATE SET value=ARRAY[kept.value[1], kept.value[2] + excluded.value[2]]
WHERE kept.ends_at > ${nowMs} AND kept.ends_at <= excluded.ends_at
AND kept.value[2] <= ($3::pg_catalog.float8 - excluded.value[2]) AND kept.value[2] >= 0::pg_catalog.float8
AND kept.value[2] = pg_catalog.floor(kept.value[2]) AND kept.value[1] = kept.ends_at::pg_catalog.float8
AND pg_catalog.cardinality(kept.value) = 2`
}

/** Returns the expression of the time, and conditions that change settings until the transaction ends. They are always true. */
function startOf({ isDurable, isTimed }: StatementOptions): { readonly nowMs: string; readonly settings: readonly string[] } {
  const setting = (name: string, value: string) => `pg_catalog.set_config('${name}', '${value}', true) IS NOT NULL`
  return {
    nowMs: isTimed ? '$5::pg_catalog.int8' : NOW_MS,
    settings: [setting('lock_timeout', String(LOCK_MS)), ...(isDurable ? [] : [setting('synchronous_commit', 'off')])],
  }
}

function prepared(text: string): Prepared {
  const named = qualified(text)
  return { name: `sluice_${sha256(new TextEncoder().encode(named)).slice(0, 16)}`, text: named }
}

/** Names the schema of every operator between spaces, whatever the search_path of the session is. They all bind equally then. */
function qualified(text: string): string {
  return text.replace(/ (<=|>=|<|>|=|\+|-|\*) /g, ' OPERATOR(pg_catalog.$1) ')
}
