import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ClientTable, COLUMN, OTHERS } from './client-table.ts'
import { MOST_BUCKETS, TimeSeries } from './time-series.ts'

describe('a time series', () => {
  test('counts every event in a bounded number of buckets, whatever the times are', () => {
    const gap = fc.oneof(fc.nat(2000), fc.nat(100_000_000), fc.nat(40_000_000_000))
    fc.assert(
      fc.property(fc.array(gap, { minLength: 1, maxLength: 300 }), (gaps) => {
        const series = new TimeSeries(2)
        let nowMs = 1_700_000_000_123
        const times = gaps.map((ms) => (nowMs += ms))
        for (const timeMs of times) series.add(series.placeOf(timeMs), 1)
        const counts = series.read(1)
        expect(counts.length).toBeLessThanOrEqual(MOST_BUCKETS)
        const expected = new Array<number>(counts.length).fill(0)
        for (const timeMs of times) expected[Math.floor((timeMs - series.startMs) / series.widthMs)] += 1
        expect(counts).toEqual(expected)
        expect(series.read(0).every((count) => count === 0)).toBe(true)
      }),
    )
  })

  test('is widened only as far as needed', () => {
    const series = new TimeSeries(1)
    series.add(series.placeOf(0), 0)
    series.add(series.placeOf((MOST_BUCKETS - 1) * 1000), 0)
    expect(series.widthMs).toBe(1000)
    series.add(series.placeOf(MOST_BUCKETS * 1000), 0)
    expect(series.widthMs).toBe(5000)
    expect(series.read(0).reduce((a, b) => a + b)).toBe(3)
  })

  test('that is empty has no start', () => {
    const series = new TimeSeries(1)
    expect(series.startMs).toBeNaN()
    expect(series.read(0)).toEqual([])
  })
})

describe('a client table', () => {
  test('keeps at most its maximum, and counts the others together', () => {
    const clients = new ClientTable(2000)
    const count = (name: string): void => {
      const index = clients.place(name)
      clients.add(index, COLUMN.denied)
      clients.noteDenial(index, name, 7)
    }
    for (let i = 0; i < 5000; i++) for (let j = 0; j <= i % 3; j++) count(`client-${i}`)
    for (let i = 0; i < 50; i++) count('late-and-heavy')
    expect(clients.size).toBe(2000)
    expect(clients.place('client-1999')).toBe(1999)
    expect(clients.place('client-2000')).toBe(OTHERS)
    expect(clients.count(5, 'denied')).toBe(3)
    expect(clients.firstDeniedMs(5)).toBe(7)
    expect(clients.clientsWith('denied')).toBe(2000)
    const all = Array.from({ length: 5000 }, (_, i) => (i % 3) + 1)
    expect(clients.others('denied')).toBe(all.slice(2000).reduce((a, b) => a + b) + 50)
    const [first] = clients.sketched(3)
    expect(first.clientId).toBe('late-and-heavy')
    expect(first.denied - first.error).toBeLessThanOrEqual(50)
    expect(first.denied).toBeGreaterThanOrEqual(50)
  })

  test('lists the clients with the highest counts', () => {
    const clients = new ClientTable(10)
    for (const name of ['a', 'b', 'c', 'b', 'c', 'c', 'd']) clients.add(clients.place(name), COLUMN.requests)
    expect(clients.top('requests', 2).map((index) => clients.nameOf(index))).toEqual(['c', 'b'])
    expect(clients.top('denied', 2)).toEqual([])
  })
})
