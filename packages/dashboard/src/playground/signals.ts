// The signals of the playground: the set-up, and everything that is computed from it.

import { computed, signal } from '@preact/signals'
import { typedDurationMs } from '../forms/duration-text.ts'
import { highestColumn, hitColumns } from '../lanes/picture.ts'
import { type Run, runRule, type Traffic } from '../lanes/run-rule.ts'
import { ALGORITHMS } from '../rules/algorithm-forms.ts'
import { type ReadRule, readRule } from '../rules/rule-form.ts'
import { readSetup, type Setup, START_SETUP } from './setup.ts'
import { readTraffic } from './traffic.ts'

export const setup = signal<Setup>(START_SETUP)

/** The reason why the address could not be read, if it could not. */
export const addressProblem = signal<string | undefined>(undefined)

/** The time under the cursor, in ms from the start. */
export const cursorMs = signal<number | undefined>(undefined)

/** The times and the traffic, or the error and its field. */
export type ReadTraffic =
  | { readonly lengthMs: number; readonly spanMs: number; readonly traffic: Traffic; readonly problem?: undefined }
  | { readonly problem: string; readonly wrong: 'length' | 'span' | 'traffic' }

export const readTimes = computed<ReadTraffic>(() => {
  const { length, span, traffic } = setup.value
  let wrong: 'length' | 'span' | 'traffic' = 'length'
  try {
    const lengthMs = typedDurationMs(length)
    wrong = 'span'
    const spanMs = typedDurationMs(span)
    wrong = 'traffic'
    return { lengthMs, spanMs, traffic: readTraffic(traffic, lengthMs) }
  } catch (error) {
    return { problem: (error as Error).message, wrong }
  }
})

/** A rule under the traffic. It has no run if the rule or the traffic is invalid. */
export interface Lane extends ReadRule {
  readonly run: Run | undefined
  /** Number of units that the rule should let through in the chosen span. */
  readonly meant: number
}

export const lanes = computed<readonly Lane[]>(() => {
  const times = readTimes.value
  return setup.value.rules.map((draft) => {
    const read = readRule(draft)
    if (read.rule === undefined || times.problem !== undefined) return { ...read, run: undefined, meant: 0 }
    const { lengthMs, spanMs, traffic } = times
    const { rate } = ALGORITHMS[draft.algorithm]
    const { options } = read.spec
    const everyMs = rate.isCalendar ? read.rule.windowMs : typedDurationMs(String(options[rate.every]))
    const meant = (Number(options[rate.units]) * spanMs) / everyMs
    return { ...read, run: runRule(read.rule, traffic, lengthMs, spanMs), meant }
  })
})

/** Width of the pictures, in pixels. */
export const pictureWidth = signal(0)

/** Hits of each lane by column, and the highest column of all lanes, so that bars can be compared. */
export const hitBars = computed(() => {
  const times = readTimes.value
  const columns = lanes.value.map(({ run }) =>
    run === undefined || times.problem !== undefined ? undefined : hitColumns(run.hits, pictureWidth.value, times.lengthMs),
  )
  return { columns, highest: Math.max(1, ...columns.map((column) => (column === undefined ? 1 : highestColumn(column)))) }
})

export function changeSetup(changed: Setup): void {
  addressProblem.value = undefined
  setup.value = changed
}

/** Applies the set-up of an address. If it cannot be read, sets `addressProblem` and applies the first set-up. */
export function takeAddress(hash: string): void {
  try {
    setup.value = readSetup(hash.replace(/^#/, ''))
    addressProblem.value = undefined
  } catch (error) {
    setup.value = START_SETUP
    addressProblem.value = (error as Error).message
  }
}
