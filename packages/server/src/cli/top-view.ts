// The view of `sluice top`, as lines of text.

import type { Client, Health, Stats, Top } from 'sluice-client/node'
import { sparkline } from './sparkline.ts'
import { count, table } from './table.ts'
import { plain } from './terminal.ts'
import { cutTo, widthOf } from './text-width.ts'

export interface TopData {
  readonly health: Health
  readonly stats: Stats
  readonly limited: Top
}

/** Time span of the view. */
const SECONDS = 60
const MOST_POLICIES = 8
const MOST_CLIENTS = 15
const SPARKLINE_NAME = 9

export async function readTop(client: Client): Promise<TopData> {
  const [health, stats, limited] = await Promise.all([
    client.health(),
    client.stats({ seconds: SECONDS + 1 }),
    client.top({ by: 'denied', limit: MOST_CLIENTS }),
  ])
  return { health, stats, limited }
}

export interface View {
  readonly columns: number
  readonly rows: number
  /** True if the view is redrawn until q is pressed. */
  readonly isLive: boolean
}

/** Returns at most `rows` lines of at most `columns` columns. */
export function topView(topData: TopData | Error, url: string, { columns, rows, isLive }: View): string[] {
  const lines = topData instanceof Error ? failed(topData, url) : shown(topData, url, columns, isLive)
  return lines.slice(0, rows).map((line) => cutTo(plain(line), columns))
}

function failed({ message }: Error, url: string): string[] {
  return [`sluice at ${url}`, '', message, 'Trying again. q leaves.']
}

function shown({ health, stats, limited }: TopData, url: string, columns: number, isLive: boolean): string[] {
  const series = {
    allowed: whole(stats.allowed),
    denied: whole(stats.denied),
    shadow: whole(stats.shadowDenied),
    errors: whole(stats.errors),
  }
  const rates = Object.entries(series).map(([name, counts]) => [
    name,
    counts.at(-1) ?? 0,
    average(counts, 10),
    average(counts, SECONDS),
    sum(counts),
  ])
  const policies = stats.policies.slice(0, MOST_POLICIES)
  const clients = limited.clients.map(({ clientId, count: most, error }) => [
    clientId,
    most,
    error === 0 ? '' : `at most ${count(error)} too many`,
  ])
  const where = `sluice at ${url}`
  const state = `${health.state}, counts in ${health.store}.`
  const since = `Up since ${stats.sinceStart.startedAt.toISOString().slice(0, 19)}Z.${isLive ? ' q leaves.' : ''}`
  const oneLine = `${where}: ${state} ${since}`
  // The number of seconds that fit beside the names.
  const seconds = Math.max(0, columns - SPARKLINE_NAME)
  return [
    ...(widthOf(oneLine) <= columns ? [oneLine] : [where, state, since]),
    '',
    ...ratesTable(rates, columns).split('\n'),
    '',
    `${'allowed'.padEnd(SPARKLINE_NAME)}${sparkline(lastOf(series.allowed, seconds))}`,
    `${'denied'.padEnd(SPARKLINE_NAME)}${sparkline(lastOf(series.denied, seconds))}`,
    '',
    ...(policies.length === 0
      ? ['No checks in the last minute.']
      : table(
          [
            ['policy, last minute', 'allowed', 'denied', 'shadow'],
            ...policies.map((each) => [each.name, each.allowed, each.denied, each.shadowDenied]),
          ],
          columns,
        ).split('\n')),
    '',
    ...(clients.length === 0
      ? ['No client was denied in the last hour.']
      : table([['client, last hour', 'denied', ''], ...clients], columns).split('\n')),
  ]
}

/** Uses short headings if the long ones do not fit. */
function ratesTable(rates: readonly (readonly (string | number)[])[], columns: number): string {
  const long = table([['checks', 'last second', '10 s average', `${SECONDS} s average`, `${SECONDS} s total`], ...rates])
  if (long.split('\n').every((line) => widthOf(line) <= columns)) return long
  return table([['checks', 'last s', '10 s avg', `${SECONDS} s avg`, `${SECONDS} s`], ...rates], columns)
}

function lastOf(series: readonly number[], seconds: number): readonly number[] {
  return seconds === 0 ? [] : series.slice(-seconds)
}

/** Drops the last second, which is still running. */
function whole(series: readonly number[]): readonly number[] {
  return series.slice(0, -1)
}

function average(series: readonly number[], seconds: number): number {
  const last = series.slice(-seconds)
  return last.length === 0 ? 0 : Math.round((sum(last) / last.length) * 10) / 10
}

function sum(series: readonly number[]): number {
  return series.reduce((total, each) => total + each, 0)
}
