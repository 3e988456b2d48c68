// Calendar windows on real servers, with clocks of processes that are wrong. A boundary is half an hour away, so that a clock which is an
// hour wrong is in another window than the server.

import { expect } from 'vitest'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import type { Answers, MethodCall } from './asked-process.ts'

export const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** So far is a clock from the server's that no window fits. */
export const LOST_MS = 3 * DAY_MS

/** The clocks of the processes: slow, right, fast, and lost. */
export const SKEWS_MS: readonly number[] = [-HOUR_MS, 0, HOUR_MS, LOST_MS]
const LOST = 3

interface Skewed {
  /** Lets a process make calls on a limiter over a store that no other test uses. */
  readonly ask: (process: number, rules: readonly RuleSpec[], ...calls: MethodCall[]) => Promise<Answers>
  readonly serverNowMs: () => Promise<number>
}

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** Returns rules with a boundary at a time of whole minutes, by UTC, and the boundary after it. */
function rulesAround(boundaryMs: number): readonly { readonly rule: RuleSpec; readonly after: number }[] {
  const date = new Date(boundaryMs)
  const time = date.toISOString().slice(11, 16)
  const [month, day] = [date.getUTCMonth(), date.getUTCDate()]
  const at = (months: number): number => new Date(boundaryMs).setUTCMonth(month + months)
  const rules = [
    { every: 'day', startsOn: time, after: boundaryMs + DAY_MS },
    { every: 'week', startsOn: `${WEEKDAYS[date.getUTCDay()]} ${time}`, after: boundaryMs + 7 * DAY_MS },
    ...(day > 28
      ? []
      : [
          { every: 'month', startsOn: `${day} ${time}`, after: at(1) },
          { every: 'year', startsOn: `${date.toISOString().slice(5, 10)} ${time}`, after: at(12) },
        ]),
  ]
  return rules.map(({ every, startsOn, after }) => ({
    rule: { algorithm: 'calendar-window', limit: 6, every, startsOn, name: `${every} ${startsOn}` } as RuleSpec,
    after,
  }))
}

/** Processes that are an hour slow, right, and an hour fast count in the same window: that of the server's clock. */
export async function expectSharedWindows({ ask, serverNowMs }: Skewed): Promise<void> {
  for (const awayMs of [HOUR_MS / 2, -HOUR_MS / 2]) {
    const boundaryMs = Math.floor(((await serverNowMs()) + awayMs) / 60_000) * 60_000
    const around = rulesAround(boundaryMs)
    const rules = around.map(({ rule }) => rule)
    for (const process of [0, 1, 2]) {
      const { answers } = await ask(process, rules, ['hit', 'ada'], ['hit', 'ada'])
      expect(answers.map(({ allowed }) => allowed)).toEqual([true, true])
    }
    for (const process of [0, 1, 2]) {
      const names = rules.map(({ name }) => name as string)
      const ends = names.map((rule): MethodCall => ['expiresAt', 'ada', { rule }])
      const { answers } = await ask(process, rules, ['hit', 'ada'], ...ends)
      expect(answers[0]).toMatchObject({ allowed: false, remaining: 0 })
      expect(answers.slice(1)).toEqual(around.map(({ after }) => (awayMs > 0 ? boundaryMs : after)))
    }
  }
}

/** A process that is days away from the server is told so, and counts nothing. Other rules of its process are not harmed. */
export async function expectRefusal({ ask }: Skewed): Promise<void> {
  const days: RuleSpec = { algorithm: 'calendar-window', limit: 6, every: 'day', name: 'days' }
  const minutes: RuleSpec = { algorithm: 'fixed-window', limit: 6, window: '1h', name: 'hours' }
  const apart = /clocks .* are more than a window apart/
  await expect(ask(LOST, [days], ['hit', 'eve'])).rejects.toThrow(apart)
  await expect(ask(LOST, [days], ['peek', 'eve'])).rejects.toThrow(apart)
  await expect(ask(LOST, [minutes, days], ['hit', 'eve'])).rejects.toThrow(apart)
  const { answers } = await ask(LOST, [minutes], ['hit', 'eve'])
  expect(answers).toMatchObject([{ allowed: true, remaining: 5 }])
  expect((await ask(1, [days], ['get', 'eve'])).answers).toEqual([0])
}
