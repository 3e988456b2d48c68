// Checks over time as small columns: the denied ones at the bottom, the allowed ones on top. Two such charts stand beside each other.

export interface DenialsChartProps {
  readonly label: string
  readonly checks: readonly number[]
  readonly denied: readonly number[]
  /** The number of checks that has the full height. */
  readonly highest: number
  readonly width: number
}

const HEIGHT = 56

/** A column with a denial is at least this high, so that it can be seen. */
const LEAST = 2

export function DenialsChart({ label, checks, denied, highest, width }: DenialsChartProps) {
  const step = width / Math.max(1, checks.length)
  const heightOf = (count: number) => (count === 0 ? 0 : Math.max(LEAST, (count / Math.max(1, highest)) * HEIGHT))
  return (
    <svg class="denials-chart" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
      <path class="allowed" d={columns(checks.map(heightOf), step)} />
      <path class="denied" d={columns(denied.map(heightOf), step)} />
    </svg>
  )
}

function columns(heights: readonly number[], step: number): string {
  return heights
    .map((height, i) =>
      height === 0 ? '' : `M${(i * step).toFixed(2)} ${HEIGHT}v${(-height).toFixed(2)}h${(step * 0.9).toFixed(2)}V${HEIGHT}z`,
    )
    .join('')
}
