// For proxies that ask before they forward: nginx' auth_request, Traefik's ForwardAuth, Caddy's forward_auth. No body, only a status and headers.
// What must stay true: the proxy is believed because it has a key; of what its own clients sent, nothing is.

import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { type CidrList, cidrList, clientAddress, type ReadClientAddress } from 'sluice/http'
import Type from 'typebox'
import type { Verdict } from '../../decide/decider.ts'
import { ServerError } from '../../errors.ts'
import { forwardedRoute, type RoutePart } from '../forwarded-request.ts'
import { headerText } from '../header-text.ts'
import { rateLimitHeaders } from '../rate-limit-headers.ts'
import { type App, described, type RouteContext } from '../route-options.ts'
import { ClientId, Cost, LONGEST_CLIENT_ID, Route, strict } from '../schemas.ts'

const Query = Type.Object(
  {
    client: Type.Optional(Type.String({ ...ClientId, description: 'Whom to count, if it is not the address.' })),
    client_header: Type.Optional(
      Type.String({
        title: 'the name of a header',
        pattern: '^[A-Za-z0-9-]{1,64}$',
        description:
          'The header that says whom to count, which the proxy has to set itself. Without it in a request, the address counts.',
      }),
    ),
    route: Type.Optional(Type.String({ ...Route, description: 'The route, if it is not the path of the forwarded request.' })),
    with: Type.Optional(
      Type.Enum(['method', 'host', 'method,host'], {
        description: 'What stands before the path in the route: `POST example.com/orders`.',
      }),
    ),
    cost: Type.Optional(Cost),
    deny_status: Type.Optional(
      Type.Enum([403, 429, 503], {
        description: 'The status for those who are denied; 403 for nginx, which knows no other. 429 unless said.',
      }),
    ),
  },
  strict,
)

export function authorizeRoute(app: App, { service, authentication }: RouteContext): void {
  const { decider } = service
  const addressOf = forwardedAddress(service.trustedProxies)

  app.get(
    '/v1/authorize',
    {
      onRequest: authentication.requires('check'),
      schema: {
        ...described({
          tag: 'deciding',
          summary: 'Decide a request that a proxy is about to forward',
          description:
            'Also as HEAD. Reads X-Forwarded-For, X-Forwarded-Uri (or X-Original-URI), X-Forwarded-Method and X-Forwarded-Host. ' +
            'The client is the address that the proxy saw, and the route the path without its query, unless the query says otherwise.',
          scope: 'check',
          answers: {
            200: Type.Null({ description: 'Allowed. No body.' }),
            403: Type.Null({ description: 'Denied, if `deny_status` says so. No body.' }),
            429: Type.Null({ description: 'Denied. No body.' }),
          },
          failures: [400, 503],
        }),
        querystring: Query,
      },
    },
    ({ query, raw }, reply) => {
      const { headers, socket } = raw
      const clientId = query.client ?? clientFrom(headers, query.client_header) ?? addressOf(socket.remoteAddress, headers).key
      const route = query.route ?? forwardedRoute(headers, (query.with?.split(',') ?? []) as RoutePart[])
      if (route === undefined) {
        throw new ServerError('ERR_INPUT', 'X-Forwarded-Uri or X-Original-URI is missing: the proxy has to say what is asked for')
      }
      const denyStatus = query.deny_status ?? 429
      const verdict = decider.check(clientId, route, query.cost ?? 1)
      return verdict instanceof Promise
        ? verdict.then((decided) => sendStatus(reply, decided, denyStatus))
        : sendStatus(reply, verdict, denyStatus)
    },
  )
}

function sendStatus(reply: FastifyReply, verdict: Verdict, denyStatus: number): FastifyReply {
  return reply
    .code(verdict.allowed ? 200 : denyStatus)
    .headers(rateLimitHeaders(verdict))
    .send()
}

function clientFrom(headers: IncomingHttpHeaders, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : headers[name.toLowerCase()]
  if (typeof value !== 'string' || value === '') return undefined
  return headerText(value).slice(0, LONGEST_CLIENT_ID)
}

/** Who a forwarded request is from: what the proxy that asks has seen, or further back, as far as trusted proxies go. */
function forwardedAddress(trustedProxies: readonly string[]): ReadClientAddress {
  const trusted: CidrList = cidrList(trustedProxies)
  const read = clientAddress({ trustProxy: (address, distance) => distance === 0 || trusted.has(address) })
  return (peer, headers) => {
    if ((headers as IncomingHttpHeaders)['x-forwarded-for'] === undefined) {
      throw new ServerError('ERR_INPUT', 'X-Forwarded-For is missing: the proxy has to say whom it asks for')
    }
    return read(peer, headers)
  }
}
