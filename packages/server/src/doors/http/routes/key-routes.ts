// API keys: list, create, rotate, revoke.

import { KeyList, KeyPath, KeyView, KeyWithSecret, NewKey, RevokeQuery, Rotation } from '../../../contract/key-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import { keyView } from '../../../desk/key-view.ts'
import { ServerError } from '../../../errors.ts'
import type { NewApiKey } from '../../../keys/key-ring.ts'
import { callerOf } from '../plumbing/caller-of.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

export function keyRoutes(app: App, context: RouteContext): void {
  const { service, authentication } = context
  const { keys, desk } = service
  const onRequest = authentication.requires('admin')

  app.get(
    '/v1/keys',
    {
      onRequest,
      schema: described({
        tag: 'keys',
        id: 'listKeys',
        summary: 'List API keys',
        description: 'Newest first, including revoked and expired keys. Secrets are not stored, so they are not listed.',
        scope: 'admin',
        answers: { 200: envelope(KeyList, 'All keys.') },
      }),
    },
    (_request, reply) => {
      reply.send(success({ keys: keys.list().map(keyView) }))
    },
  )

  app.post(
    '/v1/keys',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'keys',
          id: 'createKey',
          summary: 'Create an API key',
          scope: 'admin',
          answers: { 201: envelope(KeyWithSecret, 'The key. Its secret is shown only in this answer.', 201) },
          failures: [400, 409, 413, 415, 503],
        }),
        body: NewKey,
      },
    },
    async (request, reply) => {
      const { name, scopes, expires_at } = request.body
      const made = await desk.keys.create(callerOf(context, request), { name, scopes, ...expiry(expires_at) })
      return reply.code(201).send(success(withSecret(made), 201))
    },
  )

  app.post(
    '/v1/keys/:id/rotate',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'keys',
          id: 'rotateKey',
          summary: 'Rotate an API key',
          description:
            'Creates a second key with the same name and scopes. The first key stays valid for the grace period, or until it is revoked.',
          scope: 'admin',
          answers: { 201: envelope(KeyWithSecret, 'The new key. Its secret is shown only in this answer.', 201) },
          failures: [400, 404, 409, 413, 415, 503],
        }),
        params: KeyPath,
        body: Rotation,
      },
    },
    async (request, reply) => {
      const { grace_in_second, expires_at } = request.body
      const grace = grace_in_second === undefined ? {} : { graceMs: grace_in_second * 1000 }
      const { id } = request.params
      const made = await desk.keys.rotate(callerOf(context, request), id, { ...grace, ...expiry(expires_at) })
      return reply.code(201).send(success(withSecret(made), 201))
    },
  )

  app.delete(
    '/v1/keys/:id',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'keys',
          id: 'revokeKey',
          summary: 'Revoke an API key',
          description: 'The key is refused from now on. The last key with the scope `admin` is revoked only with `force`.',
          scope: 'admin',
          answers: { 200: envelope(KeyView, 'The key that was revoked.') },
          failures: [400, 404, 409, 503],
        }),
        params: KeyPath,
        querystring: RevokeQuery,
      },
    },
    async (request) => {
      const force = request.query.force === 'true'
      const revoked = await desk.keys.revoke(callerOf(context, request), request.params.id, { force })
      return success(keyView(revoked))
    },
  )
}

function expiry(written: string | undefined): { readonly expiresAt?: number } {
  if (written === undefined) return {}
  const expiresAt = Date.parse(written)
  if (Number.isNaN(expiresAt))
    throw new ServerError('ERR_INPUT', `expires_at must be a valid time, got ${JSON.stringify(written)}`)
  return { expiresAt }
}

function withSecret({ key, secret }: NewApiKey) {
  return { key: keyView(key), secret }
}
