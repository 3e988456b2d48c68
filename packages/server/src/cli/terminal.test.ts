import { PassThrough, type Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { plain, print, printJson } from './terminal.ts'

async function written(write: (stream: Writable) => void): Promise<string> {
  const stream = new PassThrough()
  write(stream)
  stream.end()
  return text(stream)
}

test('control characters are made visible', () => {
  expect(plain('red \x1b[31m, bell \x07, back \x08, CSI \x9b2J, delete \x7f')).toBe(
    'red ·[31m, bell ·, back ·, CSI ·2J, delete ·',
  )
  expect(plain('line\r\nbreaks')).toBe('line··breaks')
  expect(plain('turned \u202egnp.exe and \u2066isolated\u2069')).toBe('turned ·gnp.exe and ·isolated·')
  expect(plain('Zürich 東京 👩‍🚀')).toBe('Zürich 東京 👩‍🚀')
})

test('printed text keeps its line breaks and no other control characters', async () => {
  expect(await written((stream) => print(stream, 'one\n\x1b[2Jtwo'))).toBe('one\n·[2Jtwo\n')
})

test('JSON is escaped, and parses to the same value', async () => {
  const value = { name: 'a\x1b[31m\x9b\u202e\n\u0085é' }
  const json = await written((stream) => printJson(stream, value))
  expect(json).not.toMatch(/(?!\n)\p{Cc}|\u202e/u)
  expect(JSON.parse(json)).toEqual(value)
  expect(await written((stream) => printJson(stream, value, 0))).toMatch(/^[^\n]+\n$/)
})
