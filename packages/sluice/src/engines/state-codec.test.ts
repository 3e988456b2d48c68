import { expect, test } from 'vitest'
import { fixedWindow } from '../algorithms/fixed-window/fixed-window.ts'
import { slidingLog } from '../algorithms/sliding-log/sliding-log.ts'
import { tokenBucket } from '../algorithms/token-bucket/token-bucket.ts'
import { SluiceError } from '../core/errors.ts'
import { checkCells, decodeCells, encodeCells } from './state-codec.ts'

const NOW = 1_763_193_637_123
const rule = fixedWindow({ limit: 5, window: 1000 })
const log = slidingLog({ limit: 5, window: 1000 })
const meter = tokenBucket({ capacity: 5, refill: 1, every: 1000 })

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

test.each([
  ['too few cells', rule, [NOW]],
  ['too many cells', rule, [NOW, 1, 2]],
  ['NaN', rule, [NOW, Number.NaN]],
  ['Infinity', rule, [Number.POSITIVE_INFINITY, 1]],
  ['a negative cell', rule, [NOW, -1]],
  ['a part of a unit', rule, [NOW, 0.5]],
  ['a meter that owes without a rate', meter, [NOW, 5000, 0]],
  ['a meter with a rate without a pace', meter, [NOW, 5000, 1]],
  ['a log without its header', log, [NOW, 0, 0]],
  ['a log with more entries than it has cells', log, [...logCells()].with(3, 4)],
  ['a log with far more entries', log, [...logCells()].with(3, 2 ** 40)],
  ['a log with half an entry', log, [...logCells()].with(3, 1.5)],
  ['a log without space', log, [...logCells()].with(4, 0)],
  ['a log with more space than it has', log, [...logCells()].with(4, 100).with(2, 50)],
])('cells that no rule wrote are refused: %s', (_, of, cells) => {
  expect(refusal(() => checkCells(of, Float64Array.from(cells), 'k')).code).toBe('ERR_STORE_FATAL')
})

test('cells that a rule wrote are taken', () => {
  checkCells(rule, Float64Array.of(NOW, 3), 'k')
  checkCells(log, logCells(), 'k')
  const cells = new Float64Array(meter.width)
  meter.take(cells, 0, NOW, 3)
  checkCells(meter, cells, 'k')
})
