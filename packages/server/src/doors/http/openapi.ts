// Generates the OpenAPI document from the routes. It runs at build time; a running service serves the generated file.

import swagger from '@fastify/swagger'
import { pino } from 'pino'
import type { Service } from '../../service.ts'
import { Stats } from '../../stats/stats.ts'
import { VERSION } from '../../version.ts'
import { buildApp } from './app.ts'

const TAGS = [
  { name: 'deciding', description: 'Checks: other services ask whether a request may pass.' },
  { name: 'counters', description: 'Read and change what was counted.' },
  { name: 'policies', description: 'Policies: which requests get which rules.' },
  { name: 'keys', description: 'API keys.' },
  { name: 'figures', description: 'Statistics of this instance.' },
  { name: 'operations', description: 'Health, metrics and status, for operators.' },
  { name: 'older', description: 'Two endpoints in the older form, for existing callers.' },
]

const DESCRIPTION = `Sluice decides whether a client may do something now, under policies that you set.

Every answer is JSON of one form: \`meta\` has the outcome and \`data\` has the result. After an error, \`meta.error\` has a code for programs and \`meta.message\` has a message for people.

Send your API key as \`Api-Key\`, or as \`Authorization: Bearer\`. A key has one or several scopes: \`check\` decides; \`read\` reads usage, policies and statistics; \`admin\` may do everything.`

export async function describeApi(): Promise<object> {
  // The routes are added but never called, so a stub of the service is enough.
  const logger = pino({ level: 'silent' })
  const service = { stats: new Stats(), logger, trustedProxies: [], decider: {}, policies: {}, keys: {} } as unknown as Service
  const { app } = buildApp({
    service,
    planes: ['deciding', 'administration'],
    before: (bare) => {
      bare.register(swagger, {
        openapi: {
          openapi: '3.1.0',
          info: { title: 'Sluice', version: VERSION, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
          servers: [{ url: '/', description: 'The instance that serves this document.' }],
          tags: TAGS,
          components: {
            securitySchemes: {
              apiKey: { type: 'apiKey', in: 'header', name: 'Api-Key' },
              bearer: { type: 'http', scheme: 'bearer' },
            },
          },
        },
      })
    },
  })
  try {
    await app.ready()
    const document = (app as unknown as { swagger(): Described }).swagger()
    markOptionalBodies(document)
    const schemas: Record<string, unknown> = {}
    const shared = share(document, schemas) as { components: object }
    return { ...shared, components: { ...shared.components, schemas } }
  } finally {
    await app.close()
  }
}

interface Described {
  readonly components: object
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: RequestBody }>>>>
}

interface RequestBody {
  required?: boolean
  readonly content: Readonly<Record<string, { readonly schema: { 'x-optional'?: true } }>>
}

/** A schema cannot say that a body may be left out, so a mark in it does. */
function markOptionalBodies({ paths }: Described): void {
  for (const { requestBody } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const schema = requestBody?.content['application/json']?.schema
    if (requestBody === undefined || schema?.['x-optional'] === undefined) continue
    requestBody.required = false
    delete schema['x-optional']
  }
}

/** Moves every named schema to `schemas` and returns the value with references to them. */
function share(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => share(item, schemas))
  if (value === null || typeof value !== 'object') return value
  const { 'x-name': name, ...rest } = value as Record<string, unknown>
  const shared = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, share(inner, schemas)]))
  if (typeof name !== 'string') return shared
  // Generators name a class by its title, and titles here are texts for messages.
  const { title, ...untitled } = shared
  schemas[name] = { ...untitled, ...(title !== undefined && shared.description === undefined && { description: title }) }
  return { $ref: `#/components/schemas/${name}` }
}
