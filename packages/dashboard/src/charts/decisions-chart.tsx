// Decisions over time as a stack. Denied checks stand at the bottom, where a small number is visible, allowed checks on top.

import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Outcome } from '../api/answers.ts'
import { useElementWidth } from '../controls/element-width.ts'
import { theme } from '../theme/theme.ts'
import { shortCount } from '../words/count-text.ts'
import { type Buckets, sum } from './buckets.ts'

/** The outcomes in stacking order, from the bottom up. */
export const STACK: readonly (readonly [outcome: Outcome, title: string, colour: string])[] = [
  ['errors', 'errors', '--failed'],
  ['denied', 'denied', '--denied'],
  ['shadow_denied', 'shadow-denied', '--shadowed'],
  ['allowed', 'allowed', '--allowed'],
]

const HEIGHT = 240

/** Possible steps between labels of the time axis, in seconds. Small enough for a phone. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600]
const LONGEST_STEP_BELOW_A_MINUTE = 30

/** Gap between two labels, in pixels. */
const LABEL_GAP = 12

export function DecisionsChart({ buckets }: { readonly buckets: Buckets }) {
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const width = useElementWidth(frame)
  const chosen = theme.value
  const scheme = useDarkness()

  useEffect(() => {
    if (frame.current === null || width === 0) return
    plot.current = new uPlot(options(frame.current, width), stacked(buckets), frame.current)
    return () => plot.current?.destroy()
  }, [width > 0, chosen, scheme])

  useEffect(() => {
    if (width > 0) plot.current?.setSize({ width, height: HEIGHT })
  }, [width])

  useEffect(() => plot.current?.setData(stacked(buckets)), [buckets])

  const isEmpty = STACK.every(([outcome]) => sum(buckets[outcome]) === 0)
  const spoken = STACK.map(([outcome, title]) => `${sum(buckets[outcome])} ${title}`).join(', ')
  return (
    <div class="decisions-chart" ref={frame} role="img" aria-label={`Decisions over time: ${spoken}`} style={{ height: HEIGHT }}>
      {isEmpty && <p class="chart-empty soft">No check in this time.</p>}
    </div>
  )
}

/** Adds up the counts from the bottom. The highest sum is drawn first, so that lower ones cover it. */
function stacked(buckets: Buckets): uPlot.AlignedData {
  const rising: number[][] = []
  for (const [outcome] of STACK) {
    const below = rising.at(-1)
    rising.push(buckets[outcome].map((count, i) => count + (below?.[i] ?? 0)))
  }
  const perSecond = rising.map((counts) => counts.map((count) => count / buckets.stepSeconds))
  return [buckets.times as number[], ...perSecond.toReversed()]
}

function options(frame: Element, width: number): uPlot.Options {
  const colour = colourReader(frame)
  const font = `12px ${getComputedStyle(frame).fontFamily}`
  const [shortWidth, longWidth] = ['00:00', '00:00:00'].map((text) => textWidth(text, font))
  /** Distance between labels. Labels of whole minutes are shorter and need less. */
  const space = (_plot: uPlot, _axis: number, from: number, to: number, pixels: number): number => {
    const short = shortWidth + LABEL_GAP
    return ((to - from) / pixels) * short > LONGEST_STEP_BELOW_A_MINUTE ? short : longWidth + LABEL_GAP
  }
  const axis = {
    stroke: colour('--ink-soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font,
  }
  return {
    width,
    height: HEIGHT,
    // The last label is centred on its tick, which may be the end of the axis.
    padding: [8, Math.ceil(longWidth / 2) + 2, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, size: 32, space, incrs: TIME_STEPS, values: (_plot, times) => times.map(clockLabel) },
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

function clockLabel(seconds: number): string {
  const date = new Date(seconds * 1000)
  const [hours, minutes, rest] = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) =>
    String(part).padStart(2, '0'),
  )
  return rest === '00' ? `${hours}:${minutes}` : `${hours}:${minutes}:${rest}`
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
