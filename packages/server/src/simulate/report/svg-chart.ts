// Pictures of a report as inline SVG. Colours come from classes, so that they follow light and dark.
// Invariant: no script, no style attribute, and no text whose width matters: numbers stand in tables, and labels at the edges.

import { html } from './html-text.ts'
import { grouped, shortTime } from './numbers.ts'

const WIDTH = 960
const HEIGHT = 200
const LABELS = 24

/** Share of a bucket that its columns fill. */
const FILLED = 0.86

export interface ChartSeries {
  readonly name: string
  /** Class of its columns. */
  readonly tone: string
  readonly counts: readonly number[]
}

export interface ColumnChart {
  readonly title: string
  readonly startMs: number
  readonly stepSeconds: number
  /** Drawn one over the other, the first at the back; or side by side. */
  readonly series: readonly ChartSeries[]
  readonly isSideBySide: boolean
}

/** Draws columns over time. Each bucket has a title with its numbers. */
export function columnChart({ title, startMs, stepSeconds, series, isSideBySide }: ColumnChart): string {
  const buckets = Math.max(1, ...series.map(({ counts }) => counts.length))
  const most = Math.max(1, ...series.flatMap(({ counts }) => counts))
  const width = WIDTH / buckets
  const columns = Array.from({ length: buckets }, (_, i) => {
    const drawn = (width * FILLED) / (isSideBySide ? series.length : 1)
    const rects = series.map(({ tone, counts }, place) => {
      const height = ((counts[i] ?? 0) / most) * HEIGHT
      return `<rect class="${tone}" x="${fixed(i * width + (isSideBySide ? place * drawn : 0))}" y="${fixed(HEIGHT - height)}" width="${fixed(Math.max(0.5, drawn))}" height="${fixed(height)}"/>`
    })
    const numbers = series.map(({ name, counts }) => `${name}: ${grouped(counts[i] ?? 0)}`).join(', ')
    const at = shortTime(new Date(startMs + i * stepSeconds * 1000).toISOString())
    const area = `<rect class="area" x="${fixed(i * width)}" y="0" width="${fixed(width)}" height="${HEIGHT}"/>`
    return `<g>${rects.join('')}${area}<title>${html(`${at}, ${numbers}`)}</title></g>`
  })
  const time = (bucket: number): string => shortTime(new Date(startMs + bucket * stepSeconds * 1000).toISOString())
  const baseline = HEIGHT + LABELS - 6
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT + LABELS}" role="img" aria-label="${html(title)}">`,
    ...columns,
    `<line class="axis" x1="0" y1="${HEIGHT}" x2="${WIDTH}" y2="${HEIGHT}"/>`,
    `<text x="0" y="${baseline}">${html(time(0))}</text>`,
    `<text x="${WIDTH}" y="${baseline}" text-anchor="end">${html(time(buckets))}</text>`,
    '</svg>',
  ].join('\n')
}

/** Draws a bar of a share of 1, for a cell of a table. */
export function shareBar(share: number, tone: string): string {
  const width = Math.max(0, Math.min(1, share)) * 100
  return `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="8"/><rect class="${tone}" width="${fixed(width)}" height="8"/></svg>`
}

function fixed(value: number): string {
  return String(Number(value.toFixed(2)))
}
