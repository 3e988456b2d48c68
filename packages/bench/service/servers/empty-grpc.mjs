// Floor of a check through the RLS door: a gRPC service of the same library that reads the same request, and writes the same answer,
// which it did not have to decide.

import { METHOD, readRequest, requireOfServer, writeRequest, writeResponse } from '../rls-messages.mjs'
import './report-cpu.mjs'

/** @type {typeof import('@grpc/grpc-js')} */
const { Server, ServerCredentials } = requireOfServer('@grpc/grpc-js')

const ANSWER = {
  overall_code: 1,
  statuses: [
    {
      code: 1,
      current_limit: { requests_per_unit: 1_000_000_000, unit: 3, name: 'rule-1' },
      limit_remaining: 999_999_999,
      duration_until_reset: { seconds: 3600 },
    },
  ],
  response_headers_to_add: [
    { key: 'ratelimit-policy', value: '"rule-1";q=1000000000;w=3600' },
    { key: 'ratelimit', value: '"rule-1";r=999999999;t=3600' },
  ],
}

// As in the door: no statistics of channels, which take time for each call.
const server = new Server({ 'grpc.enable_channelz': 0 })
server.addService(
  {
    ShouldRateLimit: {
      path: METHOD,
      requestStream: false,
      responseStream: false,
      requestSerialize: writeRequest,
      requestDeserialize: readRequest,
      responseSerialize: writeResponse,
      responseDeserialize: (/** @type {Buffer} */ bytes) => bytes,
    },
  },
  {
    ShouldRateLimit: (
      /** @type {{ request: { descriptors: unknown[] } }} */ call,
      /** @type {(error: null, answer: object) => void} */ callback,
    ) => {
      if (call.request.descriptors.length === 0) throw new Error('that was not a request')
      callback(null, ANSWER)
    },
  },
)
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  console.log(JSON.stringify({ port, rlsPort: port, key: 'none' }))
})
