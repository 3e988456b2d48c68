// A gRPC client of the RLS door, for tests.

import { type ChannelCredentials, Client, type ClientOptions, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { loadProtocol, type RateLimitRequest, type RateLimitResponse } from '../src/doors/rls/protocol.ts'

/** A request as tests write it. Left-out fields have their defaults. */
export interface WrittenRequest {
  readonly domain?: string
  readonly hits_addend?: number
  readonly descriptors?: readonly {
    readonly entries?: readonly { readonly key: string; readonly value: string }[]
    readonly limit?: { readonly requests_per_unit: number; readonly unit: number }
    readonly hits_addend?: { readonly value: number | string }
    readonly is_negative_hits?: boolean
  }[]
}

/** The answer as it is decoded: fields that were not sent have their defaults. */
export interface Answer {
  readonly overall_code: number
  readonly statuses: readonly {
    readonly code: number
    readonly current_limit: { readonly requests_per_unit: number; readonly unit: number; readonly name: string } | null
    readonly limit_remaining: number
    readonly duration_until_reset: { readonly seconds: number } | null
  }[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const protocol = loadProtocol()

const RESPONSE = 'envoy.service.ratelimit.v3.RateLimitResponse'

interface Decoded extends Pick<Answer, 'overall_code' | 'statuses'> {
  readonly response_headers_to_add: readonly { readonly key: string; readonly value: string }[]
  readonly raw_body: Buffer
}

/** Returns a message with all its fields. */
function toObject(type: string, message: object): Decoded {
  return protocol.root.lookupType(type).toObject(message as never, { defaults: true, longs: Number }) as Decoded
}

export class RlsClient {
  readonly client: Client
  readonly #metadata: Metadata

  /** `address` is one of the service's: `grpc://…`, `grpcs://…` or `unix:…`. */
  constructor(
    address: string,
    metadata: Readonly<Record<string, string>> = {},
    secure: ChannelCredentials = credentials.createInsecure(),
    options: ClientOptions = {},
  ) {
    // Node 26 refuses an IP address as the name of a server in TLS, which is what grpc-js would send.
    const name = address.startsWith('grpcs:') ? { 'grpc.ssl_target_name_override': 'localhost' } : {}
    this.client = new Client(address.replace(/^grpcs?:\/\//, ''), secure, { ...name, ...options })
    this.#metadata = Metadata.fromHttp2Headers({})
    for (const [name, value] of Object.entries(metadata)) this.#metadata.set(name, value)
    onTestFinished(() => this.client.close())
  }

  /** Rejects with a ServiceError. */
  async ask(request: WrittenRequest, deadline = Date.now() + 10_000): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = protocol.rateLimit.ShouldRateLimit
    const answer = await new Promise<RateLimitResponse>((resolve, reject) => {
      this.client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request as RateLimitRequest,
        this.#metadata,
        { deadline },
        (error, response) => (error === null ? resolve(response as RateLimitResponse) : reject(error)),
      )
    })
    const { overall_code, statuses, response_headers_to_add, raw_body } = toObject(RESPONSE, answer)
    const headers = Object.fromEntries(response_headers_to_add.map(({ key, value }) => [key, value]))
    return { overall_code, statuses, headers, body: raw_body.toString() }
  }

  /** Asks about one descriptor: `{ remote_address: '10.0.0.7' }`. */
  hit(entries: Readonly<Record<string, string>>, domain = 'edge'): Promise<Answer> {
    return this.ask({ domain, descriptors: [{ entries: entriesOf(entries) }] })
  }

  /** Calls any method of a service with one message. */
  unary(service: 'health', method: string, message: object): Promise<Record<string, unknown>> {
    const { path, requestSerialize, responseDeserialize } = protocol[service][method]
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, (error, response) =>
        error === null ? resolve(response as Record<string, unknown>) : reject(error),
      )
    })
  }

  /** Opens a stream of a service, and sends the messages. */
  stream(service: 'health' | 'reflection', method: string, messages: readonly object[]) {
    const { path, requestSerialize, responseDeserialize, requestStream } = protocol[service][method]
    if (!requestStream) {
      return this.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, messages[0] as never)
    }
    const stream = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize)
    for (const message of messages) stream.write(message)
    stream.end()
    return stream
  }
}

export function entriesOf(entries: Readonly<Record<string, string>>): { key: string; value: string }[] {
  return Object.entries(entries).map(([key, value]) => ({ key, value }))
}

/** Resolves to the gRPC status of a failure. */
export async function failureOf(call: Promise<unknown>): Promise<Pick<ServiceError, 'code' | 'details'>> {
  const failed = await call.then(
    () => undefined,
    (error: ServiceError) => error,
  )
  if (failed === undefined) throw new Error('the call did not fail')
  return { code: failed.code, details: failed.details }
}

/** Returns the address of the RLS door. */
export function rlsAddress({ addresses }: { readonly addresses: readonly string[] }): string {
  return addresses.at(-1) as string
}
