// Pictures of a report as inline SVG. Colours come from classes, so that they follow light and dark.
// Invariant: no script, no style attribute, and no text in a picture: numbers stand in tables, and labels below.

import { html } from './html-text.ts'
import { grouped, percent, shortTime } from './numbers.ts'

const WIDTH = 960
const HEIGHT = 200

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
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT + 1}" role="img" aria-label="${html(title)}">`,
    ...columns,
    `<line class="axis" x1="0" y1="${HEIGHT}" x2="${WIDTH}" y2="${HEIGHT}"/>`,
    '</svg>',
    // Text in the picture would shrink with it on a narrow screen.
    `<p class="ends"><span>${html(time(0))}</span><span>${html(time(buckets))}</span></p>`,
  ].join('\n')
}

/** Draws a share as text and as a bar, for a cell of a table. */
export function shareBar(part: number, whole: number, tone: string): string {
  const width = whole === 0 ? 0 : Math.max(0, Math.min(1, part / whole)) * 100
  return `${percent(part, whole)}<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="8"/><rect class="${tone}" width="${fixed(width)}" height="8"/></svg>`
}

function fixed(value: number): string {
  return String(Number(value.toFixed(2)))
}
