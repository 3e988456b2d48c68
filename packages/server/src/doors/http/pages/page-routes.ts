// Serves the dashboard. Every page is the same document, which shows what its path says, except the API reference. Browsers get an HTML
// page for an unknown address.

import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { prefersHtml } from './accept-header.ts'
import { type PageFile, readPageFiles } from './page-files.ts'

/** The folder is part of the built service; see the dashboard's package. */
const FOLDER = fileURLToPath(new URL('../../../../dist/dashboard', import.meta.url))

const PAGES = ['/', '/clients', '/policies', '/live', '/fleet', '/keys', '/playground', '/sign-in']

export class BuiltPages {
  readonly #files = readPageFiles(FOLDER)

  addRoutes(app: Pick<FastifyInstance, 'get'>): void {
    for (const path of PAGES) this.#serve(app, path, 'index.html')
    this.#serve(app, '/docs', 'docs.html')
    for (const name of this.#files.keys()) if (!name.endsWith('.html')) this.#serve(app, `/${name}`, name)
  }

  /** Answers a browser that requested an unknown address. Returns false if the API must answer. */
  answerNotFound(request: FastifyRequest, reply: FastifyReply): boolean {
    const page = this.#files.get('not-found.html')
    const isReading = request.method === 'GET' || request.method === 'HEAD'
    if (page === undefined || !isReading || !prefersHtml(request.raw.headers.accept)) return false
    send(request, reply.code(404), { ...page, headers: { ...page.headers, vary: 'accept, accept-encoding' } })
    return true
  }

  #serve(app: Pick<FastifyInstance, 'get'>, path: string, name: string): void {
    const file = this.#files.get(name)
    if (file !== undefined) app.get(path, { schema: { hide: true } as object }, (request, reply) => send(request, reply, file))
  }
}

function send(request: FastifyRequest, reply: FastifyReply, { body, gzipped, headers }: PageFile): FastifyReply {
  const zipped = /\bgzip\b/.test(request.raw.headers['accept-encoding'] ?? '') ? gzipped() : undefined
  reply.headers(headers)
  return zipped === undefined ? reply.send(body) : reply.header('content-encoding', 'gzip').send(zipped)
}
