// What every route says of itself, in one place: who may call it, what it is called in the API's description, what it answers.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import Type, { type Static, type TSchema } from 'typebox'
import type { Scope } from '../keys/key-ring.ts'
import type { Authentication } from './authentication.ts'
import { Failure } from './schemas.ts'
import type { Service } from './service.ts'

/** What a schema describes is what a handler gets. */
export interface SchemaTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
}

export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, SchemaTypes>

/** What the routes are made of. */
export interface RouteContext {
  readonly service: Service
  readonly authentication: Authentication
}

export interface Described {
  readonly tag: 'deciding' | 'counters' | 'policies' | 'keys' | 'figures' | 'operations' | 'older'
  readonly summary: string
  readonly description?: string
  /** The scope that a key needs; none: anybody may call it. */
  readonly scope?: Scope
  /** The answer if all went well, by its status; and the statuses of failures. */
  readonly answers: Readonly<Record<number, TSchema | Content>>
  readonly failures?: readonly number[]
}

/** An answer that is not JSON. */
export interface Content {
  readonly description: string
  readonly content: Readonly<Record<string, { readonly schema: TSchema }>>
}

export function content(type: string, description: string): Content {
  return { description, content: { [type]: { schema: Type.String() } } }
}

/** The parts of a route's schema that describe it. */
export function described({ tag, summary, description, scope, answers, failures = [] }: Described) {
  const refused = scope === undefined ? failures : [...failures, 401, 403, 429]
  return {
    tags: [tag],
    summary,
    description: [description, scope && `Needs a key with the scope \`${scope}\`.`].filter(Boolean).join('\n\n'),
    security: scope === undefined ? [] : [{ apiKey: [] }, { bearer: [] }],
    response: { ...answers, ...Object.fromEntries(refused.map((status) => [status, Failure])) },
  }
}
