// The description of a route in one place: its scope, its name in the OpenAPI document, its responses.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import Type, { type Static, type TSchema } from 'typebox'
import { Failure } from '../../../contract/schemas.ts'
import type { Scope } from '../../../keys/key-ring.ts'
import type { Service } from '../../../service.ts'
import type { Authentication } from '../authentication.ts'

/** Derives the type of a handler's input from its schema. */
export interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, SchemaTypes>

/** Dependencies of the routes. */
export interface RouteContext {
  readonly service: Service
  readonly authentication: Authentication
}

export interface Described {
  readonly tag: 'deciding' | 'counters' | 'policies' | 'keys' | 'figures' | 'operations' | 'older'
  /** The operationId, for generated clients. It never changes. */
  readonly id: string
  readonly summary: string
  readonly description?: string
  /** The scope that a key needs; undefined if no key is needed. */
  readonly scope?: Scope
  /** Responses by status. They replace the general description of a failure with the same status. */
  readonly answers: Readonly<Record<number, TSchema | Content>>
  /** Statuses of failures, besides those that every route with a scope has. */
  readonly failures?: readonly number[]
}

/** A response that is not JSON, or not always. */
export interface Content {
  readonly description: string
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>
}

export function content(type: string, description: string, schema: TSchema = Type.String()): Content {
  return { description, content: { [type]: { schema } } }
}

/** Statuses that any request may get: it is not HTTP, came too late, has too many headers, or met an error of the service. */
const ALWAYS = [400, 408, 431, 500]

/** Statuses of a request that needs a key. 503: the service is starting. */
const WITH_KEY = [401, 403, 429, 503]

/** Returns the descriptive parts of a route's schema. */
export function described({ tag, id, summary, description, scope, answers, failures = [] }: Described) {
  const refused = [...failures, ...(scope === undefined ? [] : WITH_KEY), ...ALWAYS]
  return {
    tags: [tag],
    operationId: id,
    summary,
    description: [description, scope && `Needs a key with the scope \`${scope}\`.`].filter(Boolean).join('\n\n'),
    security: scope === undefined ? [] : [{ apiKey: [] }, { bearer: [] }],
    response: { ...Object.fromEntries(refused.map((status) => [status, Failure])), ...answers },
  }
}
