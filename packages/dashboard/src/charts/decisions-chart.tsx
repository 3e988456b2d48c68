// Decisions over time as a stack. Denied checks stand at the bottom, where a small number is visible, allowed checks on top.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Outcome } from '../api/answers.ts'
import { useElementWidth } from '../controls/element-width.ts'
import { theme } from '../theme/theme.ts'
import { shortCount } from '../words/count-text.ts'
import { type Buckets, sum } from './buckets.ts'
import './charts.css'
import { labelSpace, labelWidths, TIME_STEPS, timeLabel } from './time-labels.ts'

/** The outcomes in stacking order, from the bottom up. */
export const STACK: readonly (readonly [outcome: Outcome, title: string, colour: string])[] = [
  ['errors', 'errors', '--failed'],
  ['denied', 'denied', '--denied'],
  ['shadow_denied', 'shadow-denied', '--shadowed'],
  ['allowed', 'allowed', '--allowed'],
]

const HEIGHT = 240

export interface DecisionsChartProps {
  readonly buckets: Buckets
  /** In pixels. */
  readonly height?: number
  /** Shown in the middle if there is no check. */
  readonly empty?: ComponentChildren
}

export function DecisionsChart({
  buckets,
  height = HEIGHT,
  empty = <p class="soft">No check in this time.</p>,
}: DecisionsChartProps) {
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const width = useElementWidth(frame)
  const chosen = theme.value
  const scheme = useDarkness()

  useEffect(() => {
    if (frame.current === null || width === 0) return
    plot.current = new uPlot(options(frame.current, width, height), stacked(buckets), frame.current)
    return () => plot.current?.destroy()
  }, [width > 0, height, chosen, scheme])

  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height })
  }, [width])

  useEffect(() => plot.current?.setData(stacked(buckets)), [buckets])

  const isEmpty = STACK.every(([outcome]) => sum(buckets[outcome]) === 0)
  const spoken = STACK.map(([outcome, title]) => `${sum(buckets[outcome])} ${title}`).join(', ')
  return (
    <div class="chart-frame" style={{ height }}>
      <div class="decisions-chart" ref={frame} role="img" aria-label={`Decisions over time: ${spoken}`} style={{ height }} />
      {isEmpty && <div class="chart-empty">{empty}</div>}
    </div>
  )
}

/**
 * Adds up the counts from the bottom. The highest sum is drawn first, so that lower ones cover it. A step is drawn up to the next time, so
 * the end of the last step is added.
 */
function stacked({ times, stepSeconds, unitSeconds, ...buckets }: Buckets): uPlot.AlignedData {
  const rising: number[][] = []
  for (const [outcome] of STACK) {
    const below = rising.at(-1)
    rising.push(buckets[outcome].map((count, i) => count + (below?.[i] ?? 0)))
  }
  const rates = rising.map((counts) => withEnd(counts.map((count) => (count * unitSeconds) / stepSeconds)))
  return [withEnd(times, stepSeconds), ...rates.toReversed()]
}

/** Adds the last value once more, larger by `step`. */
function withEnd(values: readonly number[], step = 0): number[] {
  return [...values, ...values.slice(-1).map((last) => last + step)]
}

function options(frame: Element, width: number, height: number): uPlot.Options {
  const colour = colourReader(frame)
  const font = `12px ${getComputedStyle(frame).fontFamily}`
  const widths = labelWidths((text) => textWidth(text, font))
  const axis = {
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font,
  }
  return {
    width,
    height,
    // The last label is centred on its tick, which may be the end of the axis.
    padding: [8, Math.ceil(Math.max(widths.seconds, widths.day) / 2) + 2, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      {
        ...axis,
        size: 32,
        space: (_plot, _axis, from, to, pixels) => labelSpace(widths, to - from, pixels),
        incrs: TIME_STEPS,
        values: ({ scales: { x } }, times) => times.map((time) => timeLabel(time, (x.max ?? 0) - (x.min ?? 0))),
      },
      { ...axis, size: Math.ceil(textWidth('88.8K', font)) + 14, values: rateLabels },
    ],
    series: [
      {},
      ...STACK.toReversed().map(([, , token]) => ({
        fill: colour(token),
        stroke: colour(token),
        width: 0,
        points: { show: false },
        paths: uPlot.paths.stepped?.({ align: 1 }),
      })),
    ] as uPlot.Series[],
  }
}

/** An axis without data has no scale. Only its zero is labelled. */
function rateLabels({ data }: uPlot, rates: readonly number[]): string[] {
  // Row 0 holds the times. Row 1 is the top of the stack, so it is zero only if all rows are.
  const isEmpty = Array.from(data[1]).every((rate) => !rate)
  return rates.map((rate) => (isEmpty && rate > 0 ? '' : shortCount(Number(rate.toFixed(1)))))
}

function textWidth(text: string, font: string): number {
  const canvas = document.createElement('canvas').getContext('2d') as CanvasRenderingContext2D
  canvas.font = font
  return canvas.measureText(text).width
}

/** A canvas cannot use custom properties, so this reads the current value of a token. */
function colourReader(frame: Element): (token: string) => string {
  return (token) => {
    const probe = document.createElement('span')
    probe.style.color = `var(${token})`
    frame.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

/** Changes when the system switches between light and dark, so that the chart is drawn again. */
function useDarkness(): boolean {
  const [isDark, setDark] = useState(() => darkness.matches)
  useEffect(() => {
    const changed = () => setDark(darkness.matches)
    darkness.addEventListener('change', changed)
    return () => darkness.removeEventListener('change', changed)
  }, [])
  return isDark
}

const darkness = matchMedia('(prefers-color-scheme: dark)')
