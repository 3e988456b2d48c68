// Writes the fields of Fastify's reply, for the plugin and for Nest's guard on Fastify.

import type { Adapter } from './adapter.ts'
import { quickName } from './field-names.ts'
import type { NodeResponse } from './node-adapter.ts'

/** The part of Fastify's reply that is used here. */
export interface FastifyReply {
  readonly raw: NodeResponse
  code(status: number): unknown
  getHeader(name: string): number | string | string[] | undefined
  header(name: string, value: string): unknown
  send(body: string): unknown
}

export const fastifyFields: Pick<Adapter<object, FastifyReply>, 'writesFirst' | 'setField' | 'addField'> = {
  writesFirst: true,
  setField: (reply, name, value) => {
    reply.header(quickName(name), value)
  },
  addField: (reply, name, value) => {
    const there = reply.getHeader(name)
    reply.header(name, there === undefined ? value : `${there}, ${value}`)
  },
}
