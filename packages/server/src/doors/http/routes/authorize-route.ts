// For proxies that ask before they forward: nginx auth_request, Traefik ForwardAuth, Caddy forward_auth. The response has no body.
// Invariant: the proxy is trusted because it has a key. Headers that only its own clients may have sent are not trusted.

import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { type CidrList, cidrList, clientAddress, PATH_FOLDS, type PathFold, type ReadClientAddress } from 'sluice/http'
import Type, { type Static } from 'typebox'
import { ClientId, Cost, Failure, Route, strict } from '../../../contract/schemas.ts'
import type { CheckResult } from '../../../decide/decider.ts'
import { ServerError } from '../../../errors.ts'
import { isUncounted } from '../../../stats/uncounted.ts'
import { rateLimitHeaders } from '../../rate-limit-headers.ts'
import { shortClientId } from '../../short-client-id.ts'
import { forwardedRoute, type RoutePrefix } from '../plumbing/forwarded-request.ts'
import { headerText } from '../plumbing/header-text.ts'
import { type App, type Content, content, described, type RouteContext } from '../plumbing/route-options.ts'

const FOLD = PATH_FOLDS.join('|')

const Query = Type.Object(
  {
    client: Type.Optional(Type.String({ ...ClientId, description: 'The client to count. Default: the address.' })),
    client_header: Type.Optional(
      Type.String({
        title: 'the name of a header',
        pattern: '^[A-Za-z0-9-]{1,64}$',
        description:
          'The request header that names the client. The proxy must set it itself. If a request lacks it, the address is counted. ' +
          'A value of more than 256 characters, or one that is not UTF-8, is counted under its first 64 characters, `~sha256-` and its SHA-256 in base64url.',
      }),
    ),
    route: Type.Optional(Type.String({ ...Route, description: 'The route. Default: the path of the forwarded request.' })),
    with: Type.Optional(
      Type.Enum(['method', 'host', 'method,host'], {
        description: 'Puts the method, the host or both before the path in the route, as in `POST example.com/orders`.',
      }),
    ),
    fold: Type.Optional(
      Type.String({
        title: `a list of ${PATH_FOLDS.join(', ')}, with commas between`,
        pattern: `^(${FOLD})(,(${FOLD}))*$`,
        description: 'Differences in the spelling of a path to ignore.',
        examples: ['case,trailing-slash'],
      }),
    ),
    cost: Type.Optional(Cost),
    deny_status: Type.Optional(
      Type.Enum([403, 429, 503], {
        description:
          'The status of every denial. nginx needs 403. Default: 429, and 503 if the store does not answer and the failure mode is `deny`.',
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
          id: 'authorize',
          summary: 'Decide a request that a proxy is about to forward',
          description:
            'Also as HEAD. Reads X-Forwarded-For, X-Forwarded-Uri (or X-Original-URI), X-Forwarded-Method and X-Forwarded-Host. ' +
            'By default the client is the address that the proxy saw, and the route is the path without its query. Query parameters can change both. ' +
            'A client chooses its paths, so the built-in default policy counts all of them together, under the route `*`. ' +
            'Any other policy counts as its `scope` says; with `scope: route` a client has the whole limit for each path.',
          scope: 'check',
          answers: {
            200: Type.Null({ description: 'Allowed. No body.' }),
            403: denial('Denied, if `deny_status` is 403', 'the key lacks the scope'),
            429: denial('Denied', 'too many requests had a wrong key'),
            503: denial(
              'Denied, if `deny_status` is 503 or failure mode `deny` decided without the store',
              'the service is not ready, or the store did not answer',
            ),
          },
          failures: [400, 409],
        }),
        querystring: Query,
      },
    },
    ({ query, raw }, reply) => {
      const { headers, socket } = raw
      const clientId = query.client ?? clientFrom(headers, query.client_header) ?? addressOf(socket.remoteAddress, headers).key
      const { route, cost = 1, deny_status: denyStatus } = query
      const result =
        route === undefined
          ? decider.checkPath({ clientId, route: pathOf(query, headers), cost })
          : decider.check({ clientId, route, cost })
      return result instanceof Promise
        ? result.then((decided) => sendStatus(reply, decided, denyStatus))
        : sendStatus(reply, result, denyStatus)
    },
  )
}

/** Describes a status that both a denial and a failure have. Only the failure has a body. */
function denial(denied: string, failed: string): Content {
  return content('application/json', `${denied}: no body. Or ${failed}: JSON.`, Failure)
}

/** Sends the status of a check. Without `denyStatus`, a denial is 429, or 503 if it was made without the store. */
function sendStatus(reply: FastifyReply, result: CheckResult, denyStatus: number | undefined): FastifyReply {
  return reply
    .code(result.allowed ? 200 : (denyStatus ?? (isUncounted(result.decision) ? 503 : 429)))
    .headers(rateLimitHeaders(result))
    .send()
}

/** Returns the route for a path that the client chose. */
function pathOf(query: Static<typeof Query>, headers: IncomingHttpHeaders): string {
  const prefixes = listOf<RoutePrefix>(query.with)
  const path = forwardedRoute(headers, { prefixes, fold: listOf<PathFold>(query.fold) })
  if (path !== undefined) return path
  throw new ServerError('ERR_INPUT', 'X-Forwarded-Uri or X-Original-URI is missing: the proxy must send the path of the request')
}

/** Splits a list that the schema has checked. */
function listOf<T extends string>(written: string | undefined): readonly T[] {
  return (written?.split(',') ?? []) as T[]
}

function clientFrom(headers: IncomingHttpHeaders, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : headers[name.toLowerCase()]
  if (typeof value !== 'string' || value === '') return undefined
  return shortClientId(headerText(value))
}

/** Reads the client address: the address that the proxy saw, or an earlier one if the ones after it are trusted proxies. */
function forwardedAddress(trustedProxies: readonly string[]): ReadClientAddress {
  const trusted: CidrList = cidrList(trustedProxies)
  const read = clientAddress({ trustProxy: (address, distance) => distance === 0 || trusted.has(address) })
  return (peer, headers) => {
    if ((headers as IncomingHttpHeaders)['x-forwarded-for'] === undefined) {
      throw new ServerError('ERR_INPUT', 'X-Forwarded-For is missing: the proxy must send the address of its client')
    }
    return read(peer, headers)
  }
}
