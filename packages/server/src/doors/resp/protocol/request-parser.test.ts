import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RequestParser } from './request-parser.ts'

const array = (args: readonly string[]): string =>
  `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join('')}`

/** Reads all commands. With `isFresh` the parser forgets each command before it reads the next one. */
function readAll(bytes: Buffer, isFresh: boolean) {
  const parser = new RequestParser()
  parser.begin(bytes)
  const commands: { next: number; args: string[] }[] = []
  let repeats = 0
  for (let at = 0; at < bytes.length; ) {
    if (isFresh) parser.begin(bytes)
    const next = parser.read(bytes, at, bytes.length)
    if (next < 0) return { commands, repeats, end: next, problem: parser.problem, neededEnd: next === -1 ? parser.neededEnd : 0 }
    if (parser.isRepeat) repeats += 1
    commands.push({ next, args: Array.from({ length: parser.count }, (_, i) => parser.latin1(i)) })
    at = next
  }
  return { commands, repeats, end: 0, problem: parser.problem, neededEnd: 0 }
}

test('a command that differs from the last one only in argument 1 is a repeat, of any length', () => {
  const sent = ['user:1', 'user:123456', '', 'x'.repeat(300)].map((key) => array(['CL.THROTTLE', key, '15', '30', '60'])).join('')
  const { commands, repeats } = readAll(Buffer.from(sent), false)
  expect(commands.map(({ args }) => args[1].length)).toEqual([6, 11, 0, 300])
  expect(repeats).toBe(3)
})

test.each([
  ['another name', ['SLUICE.CHECK', 'a', '15']],
  ['another argument after it', ['CL.THROTTLE', 'a', '16']],
  ['more arguments', ['CL.THROTTLE', 'a', '15', '1']],
  ['fewer arguments', ['CL.THROTTLE', 'a']],
])('a command with %s is none', (_, args) => {
  const sent = array(['CL.THROTTLE', 'a', '15']) + array(args)
  expect(readAll(Buffer.from(sent), false)).toMatchObject({ repeats: 0, end: 0 })
})

test('commands are read alike with and without the one before, whole, cut or damaged', () => {
  const key = fc.string({ unit: 'binary-ascii', maxLength: 12 })
  const args = fc.oneof(
    { weight: 4, arbitrary: key.map((text) => ['CL.THROTTLE', text, '15', '30', '60']) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom('PING', 'CL.THROTTLE', 'cl.throttle'), key, fc.constantFrom('15', '1')) },
    { weight: 1, arbitrary: fc.constant(['PING']) },
  )
  const command = fc.oneof({ weight: 9, arbitrary: args.map(array) }, { weight: 1, arbitrary: fc.constant('PING a\r\n') })
  const damage = fc.option(fc.record({ at: fc.nat(), byte: fc.constantFrom(...Buffer.from('\r\n$*019:-x')) }), { freq: 2 })
  fc.assert(
    fc.property(fc.array(command, { minLength: 1, maxLength: 8 }), damage, fc.nat(), (commands, damaged, cut) => {
      const whole = Buffer.from(commands.join(''), 'latin1')
      if (damaged !== null) whole[damaged.at % whole.length] = damaged.byte
      const bytes = cut % 2 === 0 ? whole : whole.subarray(0, cut % whole.length)
      const { repeats: _, ...quick } = readAll(bytes, false)
      expect(quick).toEqual({ ...readAll(bytes, true), repeats: undefined })
    }),
    { numRuns: 2000 },
  )
})
