import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FrameBytes, isBeginning, isWhole } from './frame-bytes.ts'

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

test('pieces of any length give the bytes of the frame, and keep none of the pieces', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 305 }),
      (message, cuts) => {
        const frame = framed(message)
        const collected = new FrameBytes(Buffer.alloc(0))
        let at = 0
        for (const length of cuts) {
          if (at >= frame.length) break
          const piece = Buffer.from(frame.subarray(at, at + length))
          at += piece.length
          const bytes = collected.add(piece)
          piece.fill(0xff)
          expect(bytes.equals(frame.subarray(0, at))).toBe(true)
          expect([isBeginning(bytes, 300), isWhole(bytes)]).toEqual([true, at === frame.length])
        }
      },
    ),
  )
})

test.each([
  ['of another flag', '01', false],
  ['a prefix of the maximum', '0000000003', true],
  ['a prefix above the maximum', '0000000004', false],
  ['a byte too much', '0000000001aabb', false],
])('bytes %s', (_, hex, isPossible) => {
  expect(isBeginning(Buffer.from(hex, 'hex'), 3)).toBe(isPossible)
})
