import { expect, test } from 'vitest'
import { textOf } from '../forms/log-bytes.ts'
import { LONGEST_LINE, LogLines } from './log-lines.ts'

/** Reads chunks as one file. Returns its lines with their numbers, and the number of lines that were too long. */
function linesOf(chunks: readonly Buffer[]) {
  const found: string[] = []
  const lines = new LogLines((line, from, to, number) => found.push(`${number}:${textOf(line, from, to)}`))
  for (const chunk of chunks) lines.add(chunk)
  lines.end()
  return { found, tooLong: lines.tooLong }
}

test('lines are the same wherever the bytes are cut', () => {
  const bytes = Buffer.from('\ufeffone\r\n\nthrée €\nfour\r')
  const whole = ['1:one', '2:', '3:thrée €', '4:four']
  expect(linesOf([bytes]).found).toEqual(whole)
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
      expect(linesOf(chunks).found).toEqual(whole)
    }
  }
})

test.each([[2 ** 10], [2 ** 16], [2 ** 20]])('a line that is too long is skipped, with chunks of %i bytes', (size) => {
  const text = `a\n${'x'.repeat(LONGEST_LINE)}\n${'y'.repeat(LONGEST_LINE + 1)}\nb\n${'z'.repeat(5 * LONGEST_LINE)}`
  const chunks: Buffer[] = []
  for (let at = 0; at < text.length; at += size) chunks.push(Buffer.from(text.slice(at, at + size)))
  const { found, tooLong } = linesOf(chunks)
  expect(found.map((line) => line.slice(0, 4))).toEqual(['1:a', '2:xx', '4:b'])
  expect(tooLong).toBe(2)
})

test('each file has its own line numbers, and an empty file has no line', () => {
  const found: number[] = []
  const lines = new LogLines((_line, _from, _to, number) => found.push(number))
  for (const file of ['a\nb', '', 'c\n']) {
    lines.add(Buffer.from(file))
    lines.end()
  }
  expect(found).toEqual([1, 2, 1])
})
