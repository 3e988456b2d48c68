import { expect, test } from 'vitest'
import { widthOf } from './text-width.ts'
import { type TopData, topView } from './top-view.ts'

const seconds = Array.from({ length: 61 }, (_, i) => i * 1000)
const long = 'a-client-with-a-name-of-many-characters-'.repeat(6)

const topData: TopData = {
  health: { isReady: true, state: 'ready', store: 'memory', records: 'kept' },
  stats: {
    sinceStart: { startedAt: new Date('2026-01-02T03:04:05Z'), allowed: 1, denied: 1, shadowDenied: 0, errors: 0 },
    allowed: seconds,
    denied: seconds,
    shadowDenied: seconds.map(() => 0),
    errors: seconds.map(() => 0),
    policies: [
      { name: 'default', allowed: 123_456, denied: 7, shadowDenied: 0, errors: 0 },
      { name: long, allowed: 12, denied: 3_456_789, shadowDenied: 0, errors: 0 },
    ],
  } as unknown as TopData['stats'],
  limited: {
    clients: [
      { clientId: long, count: 98_765, error: 4 },
      { clientId: '顧客'.repeat(60), count: 54_321, error: 0 },
      { clientId: '👩‍💻'.repeat(60), count: 4321, error: 0 },
    ],
  } as unknown as TopData['limited'],
}
const url = 'https://limits.internal.example:8443'

test('no line is wider than the terminal, at any width', () => {
  for (let columns = 1; columns <= 200; columns++) {
    for (const line of topView(topData, url, { columns, rows: 100, isLive: true }))
      expect(widthOf(line), `${columns}: ${line}`).toBeLessThanOrEqual(columns)
  }
})

test('at 50 columns every number is visible, and names are shortened', () => {
  const lines = topView(topData, url, { columns: 50, rows: 100, isLive: true })
  expect(lines.slice(0, 3)).toEqual([`sluice at ${url}`, 'ready, counts in memory.', 'Up since 2026-01-02T03:04:05Z. q leaves.'])
  expect(lines).toContainEqual(expect.stringMatching(/^allowed +59,000 +54,500 +29,500 +1,770,000$/))
  expect(lines).toContainEqual(expect.stringMatching(/^a-client.*… +12 +3,456,789 +0$/))
  expect(lines).toContainEqual(expect.stringMatching(/^a-client.*… +98,765 /))
  expect(lines).toContainEqual(expect.stringMatching(/^顧客.*… +54,321$/))
  expect(lines.filter((line) => line.startsWith('denied   ')).at(-1)).toMatch(/█$/)
})

test('at 120 columns only the longest names are shortened', () => {
  const lines = topView({ ...topData, limited: { ...topData.limited, clients: [] } }, url, {
    columns: 120,
    rows: 100,
    isLive: true,
  })
  expect(lines[0]).toMatch(/^sluice at https.* q leaves\.$/)
  expect(topView(topData, url, { columns: 120, rows: 100, isLive: false })[0]).toMatch(/Z\.$/)
  expect(lines).toContainEqual(expect.stringMatching(/^checks +last second +10 s average/))
})
