import { describe, expect, test } from 'vitest'
import { BAD_NUMBERS, ODD_CELLS, RULES_OF_CELLS } from '../../test/damaged-cells.ts'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts'
import { SluiceError } from '../core/errors.ts'
import type { Rule } from '../core/rule.ts'
import { decodeRecord } from './records/record.ts'
import { checkCells, decodeCells, encodeCells } from './state-codec.ts'

const NOW = 1_763_193_637_123
const rule = fixedWindow({ limit: 5, window: 1000 })
const log = slidingLog({ limit: 5, window: 1000 })

/** Cells of a log with two entries. */
function logCells(): Float64Array {
  const cells = new Float64Array(log.width + 3 * 2)
  log.log?.frame(new Float64Array(log.width), 0, cells, 0, cells.length)
  log.spend(cells, 0, NOW, 1)
  log.spend(cells, 0, NOW + 5, 2)
  return cells
}

function refusal(run: () => unknown): SluiceError {
  try {
    run()
  } catch (error) {
    if (error instanceof SluiceError) return error
  }
  throw new Error('it was not refused')
}

test('cells come back to the last digit', () => {
  for (const cells of [[NOW, 3], [Number.MAX_SAFE_INTEGER, 0.1, 0], [1], [...logCells()]]) {
    expect([...decodeCells(encodeCells(Float64Array.from(cells)), 'k')]).toEqual(cells)
  }
})

test('the bytes are a version and little-endian doubles', () => {
  expect([...encodeCells(Float64Array.of(1, 2))]).toEqual([1, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0x40])
})

test('the bytes of a state are its own', () => {
  const [first] = [1, 2].map((cell) => encodeCells(Float64Array.of(cell, cell)))
  expect([...decodeCells(first, 'k')]).toEqual([1, 1])
  const long = Float64Array.from({ length: 100 }, (_, i) => i)
  expect([...decodeCells(encodeCells(long), 'k')]).toEqual([...long])
})

test('bytes within a larger buffer are read from their place', () => {
  const bytes = encodeCells(Float64Array.of(7, 8))
  const larger = new Uint8Array(bytes.length + 3)
  larger.set(bytes, 3)
  expect([...decodeCells(larger.subarray(3), 'k')]).toEqual([7, 8])
})

test.each([
  ['no bytes', new Uint8Array(0)],
  ['only a version', Uint8Array.of(1)],
  ['another version', Uint8Array.of(2, ...new Array(8).fill(0))],
  ['bytes cut off', encodeCells(Float64Array.of(1, 2)).subarray(0, 12)],
])('damaged bytes are refused with the name: %s', (_, bytes) => {
  const error = refusal(() => decodeCells(bytes, 'the-name'))
  expect(error).toMatchObject({ code: 'ERR_STORE_FATAL', value: 'the-name' })
  expect(error.message).toContain('the-name')
})

test.each(['a text', [1, 0, 0, 0, 0, 0, 0, 0, 0], null, 7])('a value that is no bytes is refused with the name: %j', (value) => {
  for (const decode of [decodeCells, decodeRecord]) {
    const error = refusal(() => decode(value as unknown as Uint8Array, 'the-name'))
    expect(error).toMatchObject({ code: 'ERR_STORE_FATAL', value: 'the-name' })
  }
})

describe.each(Object.entries(RULES_OF_CELLS))('%s', (_, of) => {
  const cells = new Float64Array(of.width)
  of.spend(cells, 0, NOW, 3)

  test('as the rule wrote it is taken', () => checkCells(of, cells, 'k'))

  test('with a bad number in any cell is refused', () => {
    for (const number of BAD_NUMBERS) {
      for (const at of cells.keys()) {
        const bad = cells.slice()
        bad[at] = number
        expect(refusal(() => checkCells(of, bad, 'k')).code, `cell ${at} is ${number}`).toBe('ERR_STORE_FATAL')
      }
    }
  })
})

test.each<readonly [string, Rule, readonly number[]]>([
  ...ODD_CELLS,
  ['too few cells', rule, [NOW]],
  ['too many cells', rule, [NOW, 1, 2]],
  ['NaN', rule, [NOW, Number.NaN]],
  ['Infinity', rule, [Number.POSITIVE_INFINITY, 1]],
  ['a negative cell', rule, [NOW, -1]],
  ['a part of a unit', rule, [NOW, 0.5]],
  ['a log without its header', log, [NOW, 0, 0]],
  ['a log with more entries than it has cells', log, [...logCells()].with(3, 4)],
  ['a log with far more entries', log, [...logCells()].with(3, 2 ** 40)],
  ['a log with half an entry', log, [...logCells()].with(3, 1.5)],
  ['a log without space', log, [...logCells()].with(4, 0)],
  ['a log with more space than it has', log, [...logCells()].with(4, 100).with(2, 50)],
  ['a log without entries', log, [...logCells()].with(3, 0)],
  ['a log whose numbers of entries pass 2^53', log, [...logCells()].with(2, Number.MAX_SAFE_INTEGER)],
  ['a log whose second entry cost nothing', log, [...logCells()].with(8, 1)],
  ['a log whose sums fall', log, [...logCells()].with(8, 0)],
  ['a log whose times fall', log, [...logCells()].with(7, NOW - 1)],
  ['a log that ends before its last entry', log, [...logCells()].with(0, NOW)],
])('cells that no rule wrote are refused: %s', (_, of, cells) => {
  expect(refusal(() => checkCells(of, Float64Array.from(cells), 'k')).code).toBe('ERR_STORE_FATAL')
})

test('cells that a rule wrote are taken', () => {
  checkCells(rule, Float64Array.of(NOW, 3), 'k')
  checkCells(log, logCells(), 'k')
})
