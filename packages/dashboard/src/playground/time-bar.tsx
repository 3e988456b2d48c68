// The time axis of all lanes, with a handle for the cursor. Works by pointer and by keyboard.

import { useEffect, useRef } from 'preact/hooks'
import { useElementWidth } from '../controls/element-width.ts'
import { axisTime } from '../forms/duration-text.ts'
import { axisTimes } from '../lanes/picture.ts'
import { cursorMs, pictureWidth } from './signals.ts'

export interface TimeBarProps {
  /** Length of the axis. 0 if it is not known. */
  readonly lengthMs: number
  /** The used units and the last answer of every rule, as text for screen readers. */
  readonly readingAt: (atMs: number) => string
}

export function TimeBar({ lengthMs, readingAt }: TimeBarProps) {
  const ref = useRef<HTMLDivElement>(null)
  const width = useElementWidth(ref)
  useEffect(() => {
    pictureWidth.value = width
  }, [width])
  const atMs = cursorMs.value
  const spoken = atMs === undefined ? 'none' : `${axisTime(atMs, lengthMs)}: ${readingAt(atMs)}`
  return (
    <div class="time-bar">
      <p class="legend small soft">
        <span>
          <span class="swatch allowed" /> allowed
        </span>{' '}
        <span>
          <span class="swatch denied" /> denied
        </span>{' '}
        <span>
          <span class="swatch level" /> used
        </span>
      </p>
      <p class="moment small soft">{atMs === undefined ? 'Point at a moment' : `At ${axisTime(atMs, lengthMs)}`}</p>
      <div class="time-axis" ref={ref}>
        <input
          type="range"
          aria-label="The moment that is looked at"
          aria-valuetext={spoken}
          disabled={lengthMs === 0}
          min={0}
          max={lengthMs}
          step={Math.max(1, Math.round(lengthMs / 600))}
          value={atMs ?? 0}
          onInput={(event) => {
            cursorMs.value = Number(event.currentTarget.value)
          }}
        />
        <svg width={width} height="18" aria-hidden="true">
          {(width === 0 || lengthMs === 0 ? [] : axisTimes(lengthMs, width / 80)).map((ms) => {
            const x = (ms / lengthMs) * width
            const anchor = x < 12 ? 'start' : x > width - 12 ? 'end' : 'middle'
            return (
              <text key={ms} x={x} y="12" text-anchor={anchor}>
                {axisTime(ms, lengthMs)}
              </text>
            )
          })}
        </svg>
      </div>
    </div>
  )
}
