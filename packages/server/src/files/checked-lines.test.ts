import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readLines, sealLine } from './checked-lines.ts'

const bytesOf = (...lines: string[]): Buffer => Buffer.from(lines.join(''), 'utf8')

test('a line is JSON, and is read back unchanged', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ n: fc.integer(), text: fc.string({ unit: 'binary' }) }), { maxLength: 5 }), (values) => {
      const lines = values.map(sealLine)
      for (const line of lines) expect(JSON.parse(line)).toHaveProperty('sum')
      expect(readLines(bytesOf(...lines)).values).toEqual(JSON.parse(JSON.stringify(values)))
    }),
  )
})

describe('a file', () => {
  const lines = [{ n: 1, text: 'ä' }, { n: 2 }, { n: 3 }].map(sealLine)
  const whole = bytesOf(...lines)
  const ends = [0, ...lines.map((_, i) => bytesOf(...lines.slice(0, i + 1)).length)]

  test('that ends anywhere has its complete lines', () => {
    for (let length = 0; length <= whole.length; length++) {
      const good = ends.filter((end) => end <= length).length - 1
      const { values, goodBytes, isDamaged } = readLines(whole.subarray(0, length))
      expect({ count: values.length, goodBytes, isDamaged }).toEqual({ count: good, goodBytes: ends[good], isDamaged: false })
    }
  })

  test('with a changed bit has the lines before it and is damaged, wherever the bit is', () => {
    for (let bit = 0; bit < whole.length * 8; bit++) {
      const changed = Buffer.from(whole)
      changed[bit >> 3] ^= 1 << (bit & 7)
      const { values, isDamaged, badLine } = readLines(changed)
      const line = ends.filter((end) => end <= bit >> 3).length
      expect(badLine).toBe(line)
      expect(values).toHaveLength(line - 1)
      expect(isDamaged).toBe(true)
    }
  })

  test('that ends in zeros, as after a power cut, has the lines before them', () => {
    const { values, goodBytes, isDamaged } = readLines(Buffer.concat([whole, Buffer.alloc(5000)]))
    expect({ count: values.length, goodBytes, isDamaged }).toEqual({ count: 3, goodBytes: whole.length, isDamaged: false })
  })

  test('with a hole of zeros in its last line, as after a power cut, has the lines before it', () => {
    const holed = Buffer.concat([whole, Buffer.from('{"n":4'), Buffer.alloc(512), Buffer.from(',"sum":"01234567"}\n')])
    const { values, goodBytes, isDamaged } = readLines(holed)
    expect({ count: values.length, goodBytes, isDamaged }).toEqual({ count: 3, goodBytes: whole.length, isDamaged: false })
    expect(readLines(Buffer.concat([holed, bytesOf(lines[2])]))).toMatchObject({ badLine: 4, isDamaged: true })
  })
})
