// The messages and services of the RLS door, from the .proto files of the package.
// Invariant: the interfaces below have the names of the .proto files. A test sends every field through both.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js'
import protobuf, { type Root, type Type } from 'protobufjs'
import { hasTooManyFields } from './message-fields.ts'
import { writeResponse } from './response-writer.ts'
import { TextReader } from './text-reader.ts'

export const CODE = { OK: 1, OVER_LIMIT: 2 } as const

export type Code = (typeof CODE)[keyof typeof CODE]

/**
 * Maximum size of a request. Clients choose the values of descriptors: if a request is refused, a proxy may let it pass without a
 * limit. 60 kB of headers, Envoy's default maximum, fit into each of 16 descriptors.
 */
export const MOST_BYTES = 1024 * 1024

/** The largest number of a uint32 field. */
export const MOST_UINT32 = 0xffff_ffff

export interface Entry {
  readonly key: string
  readonly value: string
}

/** A number, or an object that `Number` converts. Above 2^53 the number is not exact. */
export type Uint64 = number | { toNumber(): number }

export interface RateLimitDescriptor {
  readonly entries: readonly Entry[]
  readonly limit: { readonly requests_per_unit: number; readonly unit: number } | null
  readonly hits_addend: { readonly value: Uint64 } | null
  readonly is_negative_hits: boolean
}

export interface RateLimitRequest {
  readonly domain: string
  readonly descriptors: readonly RateLimitDescriptor[]
  readonly hits_addend: number
}

export interface DescriptorStatus {
  readonly code: Code
  readonly current_limit?: { readonly requests_per_unit: number; readonly unit: number; readonly name: string }
  readonly limit_remaining: number
  readonly duration_until_reset?: { readonly seconds: number }
}

export interface HeaderValue {
  readonly key: string
  readonly value: string
}

export interface RateLimitResponse {
  readonly overall_code: Code
  readonly statuses: readonly DescriptorStatus[]
  readonly response_headers_to_add?: readonly HeaderValue[]
  readonly raw_body?: Buffer
}

/** Names of the services, as clients and reflection spell them. */
export const SERVICES = {
  rateLimit: 'envoy.service.ratelimit.v3.RateLimitService',
  health: 'grpc.health.v1.Health',
  reflection: 'grpc.reflection.v1.ServerReflection',
} as const

const FILES = ['envoy/service/ratelimit/v3/rls.proto', 'grpc/health/v1/health.proto', 'grpc/reflection/v1/reflection.proto']

/** Loaded definitions. Loading takes about 50 ms, so only a service with this door does it. */
export interface Protocol {
  readonly root: Root
  readonly rateLimit: ServiceDefinition & { readonly ShouldRateLimit: MethodDefinition<RateLimitRequest, RateLimitResponse> }
  readonly health: ServiceDefinition
  readonly reflection: ServiceDefinition
}

export function loadProtocol(): Protocol {
  const folder = fileURLToPath(new URL('../../../proto', import.meta.url))
  const root = new protobuf.Root()
  root.resolvePath = (_origin, target) => join(folder, target)
  root.loadSync(FILES, { keepCase: true }).resolveAll()
  const rateLimit = definitionOf(root, SERVICES.rateLimit) as Protocol['rateLimit']
  return {
    root,
    rateLimit: { ...rateLimit, ShouldRateLimit: { ...rateLimit.ShouldRateLimit, responseSerialize: writeResponse } },
    health: definitionOf(root, SERVICES.health),
    reflection: definitionOf(root, SERVICES.reflection),
  }
}

/** Messages are read and written as they are, without a conversion to other objects: fields that were not sent are on the prototype. */
function definitionOf(root: Root, name: string): ServiceDefinition {
  const { methodsArray } = root.lookupService(name)
  const methods = methodsArray.map(({ name: method, requestType, responseType, requestStream, responseStream }) => {
    const [request, response] = [root.lookupType(requestType), root.lookupType(responseType)]
    const types = {
      requestSerialize: writerOf(request),
      requestDeserialize: lenient(request),
      responseSerialize: writerOf(response),
      responseDeserialize: readerOf(response),
    }
    return [
      method,
      { path: `/${name}/${method}`, requestStream: requestStream === true, responseStream: responseStream === true, ...types },
    ]
  })
  return Object.fromEntries(methods)
}

function writerOf(type: Type): (message: object) => Buffer {
  return (message) => type.encode(message).finish() as Buffer
}

/** Stands for a message that cannot be read, or has too many fields. grpc-js would answer INTERNAL, as if the service were at fault. */
export const MALFORMED: object = Object.freeze({})

function lenient(type: Type): (bytes: Buffer) => object {
  return (bytes) => {
    try {
      return hasTooManyFields(type, bytes) ? MALFORMED : type.decode(new TextReader(bytes))
    } catch {
      return MALFORMED
    }
  }
}

function readerOf(type: Type): (bytes: Buffer) => object {
  return (bytes) => type.decode(bytes)
}
