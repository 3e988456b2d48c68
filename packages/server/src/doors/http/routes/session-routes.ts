// Signing in to the dashboard, and out of it. The key is sent as for any request, and failures are limited as for any request.
// Invariant: only a key creates a session, so a session cannot extend its maximum lifetime by creating another one.

import type { FastifyRequest } from 'fastify'
import { createLimiter, memoryStore, tokenBucket } from 'sluice'
import { SessionView } from '../../../contract/key-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import { nobody } from '../../../desk/caller.ts'
import type { ApiKey } from '../../../keys/key-ring.ts'
import { type AuthenticationHook, Refusal } from '../authentication.ts'
import { callerOf } from '../plumbing/caller-of.ts'
import { success } from '../plumbing/envelope.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

/** Refused sign-ins that are audited. Enough to notice an attack, too few to fill a disk. */
const REFUSALS = { capacity: 10, refill: 10, every: '1m' } as const

/** Sign-ins of one key. More than people need, too few to fill a log. */
const SIGN_INS = { capacity: 10, refill: 10, every: '1m' } as const
const MOST_LIMITED_KEYS = 10_000

export function sessionRoutes(app: App, context: RouteContext): void {
  const { service, authentication } = context
  const { sessions } = authentication
  const { keysRequired } = service
  const refusals = createLimiter({ rules: tokenBucket(REFUSALS) })
  const signIns = createLimiter({ rules: tokenBucket(SIGN_INS), store: memoryStore({ maxKeys: MOST_LIMITED_KEYS }) })

  /** Like the usual hook, but accepts no session, and audits a refused key. */
  const onSignIn: AuthenticationHook = (request, _reply, done) => {
    try {
      request.apiKey = authentication.authenticateByKey(request.raw, 'read')
    } catch (error) {
      if (!refusals.hit('all').allowed) return done(error as Error)
      const address = authentication.addressOf(request.raw)
      service.desk
        .record(nobody({ requestId: request.id, address }), { action: 'session.refuse', target: address })
        .catch((problem: unknown) => service.logger.error({ err: problem }, 'a refused sign-in is not in the audit log'))
        .finally(() => done(error as Error))
      return
    }
    const { allowed, retryAfterMs } = signIns.hit(request.apiKey.id)
    if (allowed) return done()
    const message = `too many sign-ins with the key ${request.apiKey.id}`
    done(new Refusal('ERR_SIGN_IN_LIMITED', message, { 'retry-after': `${Math.ceil(retryAfterMs / 1000)}` }))
  }

  app.post(
    '/v1/session',
    {
      onRequest: onSignIn,
      schema: described({
        tag: 'operations',
        id: 'signIn',
        summary: 'Sign in to the dashboard',
        description:
          'Sets a cookie that stands for the key, for browsers. The session ends after half an hour without use, after twelve hours, or when ' +
          'the key ends. A session cannot create another one: send the key itself. A key may sign in 10 times a minute and may have 20 sessions.',
        scope: 'read',
        answers: { 200: envelope(SessionView, 'You are signed in.') },
        failures: [503],
      }),
    },
    async (request, reply) => {
      // Without required keys, a session would grant nothing.
      if (keysRequired) {
        reply.header('set-cookie', sessions.start(request.raw, request.apiKey))
        await service.desk.record(callerOf(context, request), { action: 'session.start', target: request.apiKey.id })
      }
      return success(view(request.apiKey, keysRequired))
    },
  )

  app.get(
    '/v1/session',
    {
      schema: described({
        tag: 'operations',
        id: 'getSession',
        summary: 'See who is signed in to the dashboard',
        answers: { 200: envelope(SessionView, 'The current session.') },
      }),
    },
    (request, reply) => {
      reply.header('cache-control', 'no-store').send(success(view(signedIn(request), keysRequired)))
    },
  )

  app.delete(
    '/v1/session',
    {
      schema: described({
        tag: 'operations',
        id: 'signOut',
        summary: 'Sign out of the dashboard',
        answers: { 200: envelope(SessionView, 'Nobody is signed in.') },
        failures: [403],
      }),
    },
    async (request, reply) => {
      const key = sessions.keyOf(request.raw)
      reply.header('set-cookie', sessions.end(request.raw))
      if (key !== undefined) {
        request.apiKey = key
        await service.desk.record(callerOf(context, request), { action: 'session.end', target: key.id })
      }
      return success(view(undefined, keysRequired))
    },
  )

  function signedIn({ raw }: FastifyRequest): ApiKey | undefined {
    return keysRequired ? sessions.keyOf(raw) : authentication.authenticate(raw, 'read')
  }
}

function view(key: ApiKey | undefined, keysRequired: boolean) {
  return {
    key: key === undefined ? null : { id: key.id, name: key.name, scopes: [...key.scopes] },
    keys_required: keysRequired,
  }
}
