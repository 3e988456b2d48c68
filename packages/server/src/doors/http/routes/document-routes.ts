// The API's description for programs. No key is needed, since it reveals nothing about this instance. The page for people is /docs.

import { readFileSync } from 'node:fs'
import Type from 'typebox'
import { JSON_TYPE } from '../plumbing/envelope.ts'
import { type App, described } from '../plumbing/route-options.ts'

/** Generated from the routes. A test fails if the file and the routes differ. */
const DOCUMENT = new URL('../../../../openapi.json', import.meta.url)

export function documentRoutes(app: App): void {
  let document: string | undefined

  app.get(
    '/openapi.json',
    {
      schema: described({
        tag: 'operations',
        id: 'getOpenapi',
        summary: 'The description of this API',
        answers: { 200: { ...Type.Object({}), description: 'OpenAPI 3.1.' } },
      }),
    },
    (_request, reply) => {
      document ??= readFileSync(DOCUMENT, 'utf8')
      reply.header('content-type', JSON_TYPE).send(document)
    },
  )
}
