// A small line chart of a few counts, for table cells.

export interface SparklineProps {
  readonly counts: readonly number[]
  readonly label: string
}

const WIDTH = 96
const HEIGHT = 24

export function Sparkline({ counts, label }: SparklineProps) {
  const highest = Math.max(1, ...counts)
  const points = counts.map((count, i) => {
    const x = (i / Math.max(1, counts.length - 1)) * WIDTH
    return `${x.toFixed(1)} ${(HEIGHT - 1.5 - (count / highest) * (HEIGHT - 3)).toFixed(1)}`
  })
  return (
    <svg class="sparkline" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {points.length > 1 && <path d={`M${points.join('L')}`} />}
    </svg>
  )
}
