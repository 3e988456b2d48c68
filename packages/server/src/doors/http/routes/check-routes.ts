// Deciding: one check, a batch, and the older form.
// Invariant: a decided check gets status 200, also for Deny. A check in memory is answered without a promise.

import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { LIMITS } from '../../../contract/limits.ts'
import { Answer, Batch, BatchAnswer, Check, ClientId, envelope, Route, strict } from '../../../contract/schemas.ts'
import type { CheckRequest } from '../../../decide/check-request.ts'
import type { CheckResult } from '../../../decide/decider.ts'
import { messageOf, ServerError } from '../../../errors.ts'
import { rateLimitHeaders } from '../../rate-limit-headers.ts'
import { answerData, batchAnswer, checkAnswer } from '../plumbing/check-answer.ts'
import { JSON_TYPE } from '../plumbing/envelope.ts'
import { headerClientId } from '../plumbing/header-text.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'

export function checkRoutes(app: App, { service, authentication }: RouteContext): void {
  const { decider } = service
  const onRequest = authentication.requires('check')

  const answer = (reply: FastifyReply, request: CheckRequest): FastifyReply | Promise<FastifyReply> => {
    const result = decider.check(request)
    return result instanceof Promise ? result.then((decided) => sendAnswer(reply, decided)) : sendAnswer(reply, result)
  }

  app.post(
    '/v1/check',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'deciding',
          id: 'check',
          summary: 'Decide one check',
          description:
            'Finds the policies for this client, route and attributes, decides over all their rules at once, and spends the cost if it is allowed. ' +
            'Answers 200 whenever it decided: ' +
            '`data.status` says Allow or Deny, and after Deny `data.retryable` says if waiting helps, and `data.retry_after_ms` how long. The headers RateLimit, ' +
            'RateLimit-Policy and Retry-After describe the decision too.',
          scope: 'check',
          answers: { 200: envelope(Answer, 'It was decided.') },
          failures: [400, 409, 413, 415, 503],
        }),
        body: Check,
      },
    },
    ({ body: { client_id: clientId, route, attributes, cost = 1 } }, reply) =>
      answer(reply, { clientId, route, attributes, cost }),
  )

  app.post(
    '/v1/check/batch',
    {
      onRequest,
      bodyLimit: LIMITS.mostBatchBytes,
      schema: {
        ...described({
          tag: 'deciding',
          id: 'checkBatch',
          summary: 'Decide many checks at once',
          description: 'Each check is decided by itself, in the order of the list. On Redis all travel in one call.',
          scope: 'check',
          answers: {
            200: envelope(BatchAnswer, 'All checks were processed. The results are in the order of the checks.'),
          },
          failures: [400, 413, 415],
        }),
        body: Batch,
      },
    },
    ({ body: { checks } }, reply) => {
      const startMs = performance.now()
      const answers = checks.map(({ client_id: clientId, route, attributes, cost = 1 }) => {
        try {
          const result = decider.check({ clientId, route, attributes, cost }, startMs)
          return result instanceof Promise ? result.then(answerData, failedAnswer) : answerData(result)
        } catch (error) {
          return failedAnswer(error)
        }
      })
      if (areKnown(answers)) return sendJson(reply, batchAnswer(answers))
      return Promise.all(answers).then((known) => sendJson(reply, batchAnswer(known)))
    },
  )

  app.post(
    '/api/v1/rate/fixed-window',
    {
      onRequest,
      schema: {
        ...described({
          tag: 'older',
          id: 'checkFixedWindow',
          summary: 'Decide one check, in the older form',
          scope: 'check',
          answers: { 200: envelope(Answer, 'It was decided.') },
          failures: [400, 409, 413, 415, 503],
        }),
        headers: Type.Object({ 'x-client-id': ClientId }),
        body: Type.Object({ route: Route }, strict),
      },
    },
    ({ headers, body: { route } }, reply) => answer(reply, { clientId: headerClientId(headers['x-client-id']), route, cost: 1 }),
  )
}

function sendAnswer(reply: FastifyReply, result: CheckResult): FastifyReply {
  return sendJson(reply.headers(rateLimitHeaders(result)), checkAnswer(result))
}

function sendJson(reply: FastifyReply, body: string): FastifyReply {
  return reply.header('content-type', JSON_TYPE).send(body)
}

function areKnown(answers: readonly (string | Promise<string>)[]): answers is readonly string[] {
  return answers.every((answer) => typeof answer === 'string')
}

/** The result of a check in a batch that could not be decided. */
function failedAnswer(error: unknown): string {
  const code = error instanceof ServerError ? { error: error.code } : {}
  return JSON.stringify({ status: 'Error', ...code, message: messageOf(error) })
}
