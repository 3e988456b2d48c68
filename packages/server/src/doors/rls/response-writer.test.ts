import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadProtocol, MOST_UINT32, type RateLimitResponse } from './protocol.ts'
import { writeFrame, writeResponse } from './response-writer.ts'

const type = loadProtocol().root.lookupType('envoy.service.ratelimit.v3.RateLimitResponse')

const uint32 = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: MOST_UINT32 }))
const seconds = fc.oneof(fc.nat(300), fc.maxSafeNat())
const text = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: 'grapheme', minLength: 100, maxLength: 200 }))
const code = fc.constantFrom(1 as const, 2 as const)
const status = fc.record(
  {
    code,
    current_limit: fc.record({ requests_per_unit: uint32, unit: fc.nat(7), name: text }),
    limit_remaining: uint32,
    duration_until_reset: fc.record({ seconds }),
  },
  { requiredKeys: ['code', 'limit_remaining'] },
)
const response: fc.Arbitrary<RateLimitResponse> = fc.record(
  {
    overall_code: code,
    statuses: fc.array(status, { maxLength: 64 }),
    response_headers_to_add: fc.array(fc.record({ key: text, value: text }), { maxLength: 4 }),
    raw_body: fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
  },
  { requiredKeys: ['overall_code', 'statuses'] },
)

test('any answer has the bytes that protobufjs writes', () => {
  fc.assert(
    fc.property(response, (answer) => {
      expect(writeResponse(answer).toString('hex')).toBe(Buffer.from(type.encode(answer).finish()).toString('hex'))
    }),
  )
})

test('a frame is the answer after its length', () => {
  fc.assert(
    fc.property(response, (answer) => {
      const message = writeResponse(answer)
      const frame = writeFrame(answer)
      expect([frame[0], frame.readUInt32BE(1)]).toEqual([0, message.length])
      expect(frame.subarray(5).equals(message)).toBe(true)
    }),
  )
})
