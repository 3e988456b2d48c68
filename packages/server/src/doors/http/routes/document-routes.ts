// The API's description: as JSON for programs, as a page for people. No key is needed, since it reveals nothing about this instance.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import Type from 'typebox'
import { type Description, docsPage, STYLE } from '../pages/docs-page.ts'
import { JSON_TYPE } from '../plumbing/envelope.ts'
import { type App, content, described } from '../plumbing/route-options.ts'

/** Generated from the routes. A test fails if the file and the routes differ. */
const DOCUMENT = new URL('../../../../openapi.json', import.meta.url)

const CSP = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

export function documentRoutes(app: App): void {
  let document: string | undefined
  const read = (): string => {
    document ??= readFileSync(DOCUMENT, 'utf8')
    return document
  }

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
      reply.header('content-type', JSON_TYPE).send(read())
    },
  )

  app.get(
    '/docs',
    {
      schema: described({
        tag: 'operations',
        id: 'getDocs',
        summary: 'The description of this API, as a page',
        answers: { 200: content('text/html', 'A page.') },
      }),
    },
    (_request, reply) => {
      const headers = { 'content-security-policy': CSP, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }
      reply
        .headers(headers)
        .header('content-type', 'text/html; charset=utf-8')
        .send(docsPage(JSON.parse(read()) as Description))
    },
  )
}
