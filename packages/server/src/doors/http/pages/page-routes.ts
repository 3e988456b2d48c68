// Serves the dashboard. Every page is the same document, which shows what its path says. Browsers get an HTML page for an unknown
// address.

import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { prefersHtml } from './accept-header.ts'
import { type PageFile, readPageFiles } from './page-files.ts'

/** The folder is part of the built service; see the dashboard's package. */
const FOLDER = fileURLToPath(new URL('../../../../dist/dashboard', import.meta.url))

const PAGES = ['/', '/clients', '/policies', '/live', '/keys', '/playground', '/sign-in']

export class BuiltPages {
  readonly #files = readPageFiles(FOLDER)

  addRoutes(app: Pick<FastifyInstance, 'get'>): void {
    const index = this.#files.get('index.html')
    if (index === undefined) return
    for (const path of PAGES) app.get(path, { schema: { hide: true } as object }, (request, reply) => send(request, reply, index))
    for (const [name, file] of this.#files) {
      if (name.endsWith('.html')) continue
      app.get(`/${name}`, { schema: { hide: true } as object }, (request, reply) => send(request, reply, file))
    }
  }

  /** Answers a browser that requested an unknown address. Returns false if the API must answer. */
  answerNotFound(request: FastifyRequest, reply: FastifyReply): boolean {
    const page = this.#files.get('not-found.html')
    const isReading = request.method === 'GET' || request.method === 'HEAD'
    if (page === undefined || !isReading || !prefersHtml(request.raw.headers.accept)) return false
    send(request, reply.code(404), { ...page, headers: { ...page.headers, vary: 'accept, accept-encoding' } })
    return true
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { body, gzipped, headers }: PageFile): FastifyReply {
  const isGzipped = gzipped !== undefined && /\bgzip\b/.test(request.raw.headers['accept-encoding'] ?? '')
  reply.headers(headers)
  return isGzipped ? reply.header('content-encoding', 'gzip').send(gzipped) : reply.send(body)
}
