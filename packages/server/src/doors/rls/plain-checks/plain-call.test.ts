import { EventEmitter } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { expect, test, vi } from 'vitest'
import { CallGuard } from '../call-guard.ts'
import type { LibraryStreams } from '../library-streams.ts'
import { CODE } from '../protocol.ts'
import type { Answerer, RateLimitService } from '../rate-limit-service.ts'
import type { RlsConnection } from '../rls-connection.ts'
import { PlainCall } from './plain-call.ts'

const RESPONSE = { overall_code: CODE.OK, statuses: [] }
const FAILURE = { code: 14, details: 'nothing was decided' }

/** A call whose request is complete, and whose decision the test makes. */
function decidedCall({ timeoutMs = Number.POSITIVE_INFINITY } = {}) {
  const stream = Object.assign(new EventEmitter(), {
    closed: false,
    readableEnded: true,
    respond: vi.fn(),
    end: vi.fn(),
  })
  const connection = { begin: vi.fn(), end: vi.fn(), destroy: vi.fn() }
  const answerers: Answerer[] = []
  const rateLimit = {
    decide: (_request: unknown, _deadlineMs: number, answerer: Answerer) => void answerers.push(answerer),
  } as unknown as RateLimitService
  const guard = new CallGuard()
  const parts = {
    guard,
    rateLimit,
    library: {} as LibraryStreams,
    decode: () => ({ domain: '', descriptors: [], hits_addend: 0 }),
  }
  new PlainCall(
    parts,
    connection as unknown as RlsConnection,
    stream as unknown as ServerHttp2Stream,
    { ':method': 'POST' },
    timeoutMs,
  )
  expect(guard.incomplete).toBe(1)
  stream.emit('data', Buffer.from('0000000000', 'hex'))
  stream.emit('end')
  expect(guard.incomplete).toBe(0)
  return { stream, connection, answerer: answerers[0] }
}

test('a call is answered once', () => {
  const { stream, answerer } = decidedCall()
  answerer.answered(RESPONSE)
  answerer.answered(RESPONSE)
  answerer.failed(FAILURE)
  expect(stream.respond).toHaveBeenCalledTimes(1)
  expect(stream.end).toHaveBeenCalledTimes(1)
})

test('a call whose deadline passes is answered then, and not again', async () => {
  const { stream, answerer } = decidedCall({ timeoutMs: 1 })
  await vi.waitUntil(() => stream.respond.mock.calls.length === 1)
  answerer.answered(RESPONSE)
  expect(stream.respond.mock.calls).toEqual([[expect.objectContaining({ 'grpc-status': 4 }), { endStream: true }]])
})

test('a stream that is reset takes no answer, also before its close event', () => {
  const { stream, answerer, connection } = decidedCall()
  stream.closed = true
  answerer.answered(RESPONSE)
  answerer.failed(FAILURE)
  stream.closed = false
  stream.emit('close')
  answerer.answered(RESPONSE)
  expect(stream.respond).not.toHaveBeenCalled()
  expect(connection.end).toHaveBeenCalledTimes(1)
})
