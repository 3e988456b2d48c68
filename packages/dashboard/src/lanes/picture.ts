// Turns a run into the lines and bars of its picture: paths in pixels, for one lane of a given width.
// Invariant: every hit is drawn, even if many share a column.

import type { Hit, Run } from './run-rule.ts'

/** Vertical positions in a lane, in pixels from its top. */
export const LANE = { height: 132, levelTop: 22, levelBottom: 80, hitsMiddle: 108, hitsReach: 22 } as const

/** Width of a column of hits, including the gap to the next. */
const COLUMN = 4
const BAR = 3

/** Number of allowed and denied hits, by column. */
export interface Columns {
  readonly allowed: Uint32Array
  readonly denied: Uint32Array
}

export function hitColumns(hits: readonly Hit[], width: number, lengthMs: number): Columns {
  const count = Math.max(1, Math.ceil(width / COLUMN))
  const columns = { allowed: new Uint32Array(count), denied: new Uint32Array(count) }
  for (const { atMs, allowed } of hits) {
    const column = Math.min(count - 1, Math.floor(((atMs / lengthMs) * width) / COLUMN))
    columns[allowed ? 'allowed' : 'denied'][column] += 1
  }
  return columns
}

export function highestColumn({ allowed, denied }: Columns): number {
  let highest = 1
  for (const column of [allowed, denied]) for (const count of column) highest = Math.max(highest, count)
  return highest
}

/** Bars from the middle line: up for allowed hits, down for denied hits. A count of `highest` has the full height. */
export function barsPath(counts: Uint32Array, highest: number, direction: 'up' | 'down'): string {
  let path = ''
  counts.forEach((count, column) => {
    if (count === 0) return
    const reach = Math.max(2, Math.round((count / highest) * LANE.hitsReach))
    const top = direction === 'up' ? LANE.hitsMiddle - 1 - reach : LANE.hitsMiddle + 1
    path += `M${column * COLUMN} ${top}h${BAR}v${reach}h-${BAR}z`
  })
  return path
}

/** The y position of `used` units, with `highest` units at the top. */
export function levelY(used: number, highest: number): number {
  return LANE.levelBottom - (used / highest) * (LANE.levelBottom - LANE.levelTop)
}

/** The line of used units, with at most a few points for each pixel. */
export function levelPath({ level }: Run, width: number, lengthMs: number, highest: number): string {
  const points: string[] = []
  let last = ''
  for (let i = 0; i < level.length; i++) {
    const x = ((level.atMs[i] / lengthMs) * width).toFixed(1)
    const point = `${x} ${levelY(level.used[i], highest).toFixed(1)}`
    if (point === last) continue
    points.push(point)
    last = point
  }
  return points.length === 0 ? '' : `M${points.join('L')}`
}

/** Up to `most` labels of the axis, at round times. */
export function axisTimes(lengthMs: number, most: number): number[] {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000]
  const minutes = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((minute) => minute * 60_000)
  const step = [...steps, ...minutes].find((stepMs) => lengthMs / stepMs <= most) ?? lengthMs / most
  return Array.from({ length: Math.floor(lengthMs / step) + 1 }, (_, i) => i * step)
}
