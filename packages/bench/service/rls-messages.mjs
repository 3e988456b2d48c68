// The messages of Envoy's rate limit service, by the library and the files of the service.

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const server = new URL('../../server/', import.meta.url)

/** Requires a module as the service does. */
export const requireOfServer = createRequire(new URL('package.json', server))

/** @type {typeof import('protobufjs')} */
const protobuf = requireOfServer('protobufjs')

export const METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

const folder = fileURLToPath(new URL('proto', server))
const root = new protobuf.Root()
root.resolvePath = (_origin, target) => join(folder, target)
root.loadSync('envoy/service/ratelimit/v3/rls.proto', { keepCase: true })
const request = root.lookupType('envoy.service.ratelimit.v3.RateLimitRequest')
const response = root.lookupType('envoy.service.ratelimit.v3.RateLimitResponse')

/** @param {object} message */
export const writeRequest = (message) => /** @type {Buffer} */ (request.encode(message).finish())

/** @param {Buffer} bytes */
export const readRequest = (bytes) => /** @type {{ descriptors: unknown[] }} */ (/** @type {unknown} */ (request.decode(bytes)))

/** @param {object} message */
export const writeResponse = (message) => /** @type {Buffer} */ (response.encode(message).finish())
