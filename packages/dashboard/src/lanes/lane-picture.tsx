// The picture of one rule: the used units as a line below the limit, the hits as bars, and the busiest window.

import type { ReadonlySignal } from '@preact/signals'
import { spokenDuration } from '../forms/duration-text.ts'
import { axisTimes, barsPath, type Columns, LANE, levelPath, levelY } from './picture.ts'
import { readingAt, spokenHit } from './reading.ts'
import type { Run } from './run-rule.ts'
import './lane-picture.css'

export interface LanePictureProps {
  readonly label: string
  readonly limit: number
  readonly run: Run
  readonly columns: Columns
  /** Height of the highest column of all lanes, so that bars can be compared. */
  readonly highestColumn: number
  readonly lengthMs: number
  readonly spanMs: number
  readonly isOver: boolean
  readonly width: number
  /** The moment that is looked at, in ms from the start. A picture without it has no cursor. */
  readonly cursorMs?: ReadonlySignal<number | undefined>
}

export function LanePicture(props: LanePictureProps) {
  const { label, limit, run, columns, highestColumn, lengthMs, spanMs, isOver, width, cursorMs } = props
  const x = (ms: number) => (ms / lengthMs) * width
  const highest = Math.max(limit, ...run.hits.map(({ used }) => used))
  const limitY = levelY(limit, highest)
  const level = levelPath(run, width, lengthMs, highest)
  const { count, fromMs } = run.busiest
  const bandX = x(fromMs)
  const bandWidth = Math.min(x(spanMs), width - bandX)
  const isLabelLeft = bandX < width * 0.7
  return (
    <svg
      class="lane-picture"
      width={width}
      height={LANE.height}
      viewBox={`0 0 ${width} ${LANE.height}`}
      role="img"
      aria-label={label}
    >
      {axisTimes(lengthMs, width / 80).map((ms) => (
        <line key={ms} class="grid-line" x1={x(ms)} x2={x(ms)} y1={LANE.levelTop} y2={LANE.height} />
      ))}
      {count > 0 && (
        <g class={isOver ? 'busiest over' : 'busiest'}>
          <rect x={bandX} y={0} width={bandWidth} height={LANE.height} rx="4" />
          <text x={isLabelLeft ? bandX + 6 : bandX + bandWidth - 6} y={14} text-anchor={isLabelLeft ? 'start' : 'end'}>
            {count} in {spokenDuration(spanMs)}
          </text>
        </g>
      )}
      <path class="level-area" d={`${level}L${width} ${LANE.levelBottom}L0 ${LANE.levelBottom}z`} />
      <path class="level-line" d={level} />
      <line class="limit-line" x1={0} x2={width} y1={limitY} y2={limitY} />
      <text class="limit-text" x={width - 4} y={limitY - 4} text-anchor="end">
        limit {limit}
      </text>
      <line class="hits-line" x1={0} x2={width} y1={LANE.hitsMiddle} y2={LANE.hitsMiddle} />
      <path class="allowed-hits" d={barsPath(columns.allowed, highestColumn, 'up')} />
      <path class="denied-hits" d={barsPath(columns.denied, highestColumn, 'down')} />
      {cursorMs !== undefined && <Cursor cursorMs={cursorMs} run={run} lengthMs={lengthMs} highest={highest} width={width} />}
    </svg>
  )
}

interface CursorProps {
  readonly cursorMs: ReadonlySignal<number | undefined>
  readonly run: Run
  readonly lengthMs: number
  readonly highest: number
  readonly width: number
}

/** The vertical line at the cursor, with the used units and the answer to the last hit at that time. */
function Cursor({ cursorMs, run, lengthMs, highest, width }: CursorProps) {
  const atMs = cursorMs.value
  if (atMs === undefined) return null
  const x = (atMs / lengthMs) * width
  const { used, hit } = readingAt(run, atMs)
  const y = levelY(used, highest)
  const isLeft = x < width * 0.75
  const text = { x: isLeft ? x + 8 : x - 8, 'text-anchor': isLeft ? 'start' : 'end' } as const
  return (
    <g class="cursor">
      <line x1={x} x2={x} y1={0} y2={LANE.height} />
      <circle cx={x} cy={y} r="3.5" />
      <text {...text} y={Math.min(y + 14, LANE.levelBottom - 4)}>
        {used} used
      </text>
      <text {...text} y={LANE.hitsMiddle + 16}>
        {spokenHit(hit)}
      </text>
    </g>
  )
}
