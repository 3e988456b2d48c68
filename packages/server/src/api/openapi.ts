// Makes the OpenAPI document of all routes. A running service does not use it: it serves the document that was made with this.

import swagger from '@fastify/swagger'
import { pino } from 'pino'
import type { Service } from '../service.ts'
import { Stats } from '../stats/stats.ts'
import { VERSION } from '../version.ts'
import { buildApp } from './app.ts'

const TAGS = [
  { name: 'deciding', description: 'May this pass? What other services ask.' },
  { name: 'counters', description: 'What was counted, by hand.' },
  { name: 'policies', description: 'Which requests get which rules.' },
  { name: 'keys', description: 'API keys.' },
  { name: 'figures', description: 'What is going on.' },
  { name: 'operations', description: 'For those who run the service.' },
  { name: 'older', description: 'Two endpoints in the form that older callers know.' },
]

const DESCRIPTION = `Sluice decides whether a client may do something now, under policies that you set.

Every answer is JSON of one form: \`meta\` says how it went, \`data\` is what was asked for. What goes wrong has a code for programs in \`meta.error\` and words for people in \`meta.message\`.

Send your API key as \`Api-Key\`, or as \`Authorization: Bearer\`. A key has one or several scopes: \`check\` decides, \`read\` reads usage, policies and figures, \`admin\` may do everything.`

export async function describeApi(): Promise<object> {
  // The routes are made, never called: they need nothing but figures to hold on to.
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
    const document = (app as unknown as { swagger(): { components: object } }).swagger()
    const schemas: Record<string, unknown> = {}
    const shared = share(document, schemas) as { components: object }
    return { ...shared, components: { ...shared.components, schemas } }
  } finally {
    await app.close()
  }
}

/** Moves every schema that has a name to `schemas`, and leaves a reference to it. */
function share(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => share(item, schemas))
  if (value === null || typeof value !== 'object') return value
  const { 'x-name': name, ...rest } = value as Record<string, unknown>
  const shared = Object.fromEntries(Object.entries(rest).map(([key, inner]) => [key, share(inner, schemas)]))
  if (typeof name !== 'string') return shared
  schemas[name] = shared
  return { $ref: `#/components/schemas/${name}` }
}
