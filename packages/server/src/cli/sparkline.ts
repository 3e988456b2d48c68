// A series of numbers as one line of blocks.

const STEPS = '▁▂▃▄▅▆▇█'

export function sparkline(series: readonly number[]): string {
  const most = Math.max(1, ...series)
  return series.map((each) => (each === 0 ? ' ' : STEPS[Math.ceil((each / most) * STEPS.length) - 1])).join('')
}
