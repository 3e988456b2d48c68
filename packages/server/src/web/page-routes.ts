// Serves the pages: every page is the same document, which draws what its path says.

import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type PageFile, readPageFiles } from './page-files.ts'

/** Beside the built service; see the dashboard's package. */
const FOLDER = fileURLToPath(new URL('../../dist/dashboard', import.meta.url))

const PAGES = ['/', '/clients', '/policies', '/live', '/keys', '/playground', '/sign-in']

export function pageRoutes(app: Pick<FastifyInstance, 'get'>): void {
  const files = readPageFiles(FOLDER)
  const index = files.get('index.html')
  if (index === undefined) return
  for (const path of PAGES) app.get(path, { schema: { hide: true } as object }, (request, reply) => send(request, reply, index))
  for (const [name, file] of files) {
    if (name.endsWith('.html')) continue
    app.get(`/${name}`, { schema: { hide: true } as object }, (request, reply) => send(request, reply, file))
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { body, gzipped, headers }: PageFile): FastifyReply {
  const isGzipped = gzipped !== undefined && /\bgzip\b/.test(request.raw.headers['accept-encoding'] ?? '')
  reply.headers(headers)
  return isGzipped ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(body)
}
