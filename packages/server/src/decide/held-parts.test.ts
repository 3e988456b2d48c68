import { expect, test } from 'vitest'
import { heldParts, joinHeld } from './held-parts.ts'

test.each([[[]], [['-one']], [['-one', '=two']], [['-a:b+3:', '=\u0000\u0001', '-ä🦉', '=9:9:']]])(
  'parts are found again: %j',
  (parts) => {
    expect(heldParts(joinHeld(parts))).toEqual(parts)
  },
)

test('a text of one part is the part itself, as in tokens of earlier versions', () => {
  expect(joinHeld(['-[1,2]'])).toBe('-[1,2]')
})

test.each(['+', '+5:ab', '+x:ab', '+-1:ab', '+0:', '+2:ab3:', '+2.5:ab'])(
  'a text of another form is one part that nobody can open: %s',
  (text) => {
    expect(heldParts(text)).toEqual([text])
  },
)
