// Policies: list, read, put, delete.

import Type, { type TSchema } from 'typebox'
import {
  IfMatch,
  IfNoneMatch,
  PolicyBody,
  PolicyPage,
  PolicyPath,
  PolicyQuery,
  PolicyView,
} from '../../../contract/policy-schemas.ts'
import { envelope } from '../../../contract/schemas.ts'
import { ServerError } from '../../../errors.ts'
import { show } from '../../../input/near-word.ts'
import type { Policy } from '../../../policies/policy.ts'
import { etagOf } from '../../../policies/policy-etag.ts'
import { callerOf } from '../plumbing/caller-of.ts'
import { success } from '../plumbing/envelope.ts'
import { checkExpected } from '../plumbing/expected-policy.ts'
import { type App, described, type RouteContext } from '../plumbing/route-options.ts'
import { validatorCompiler } from '../plumbing/validation.ts'

export function policyRoutes(app: App, context: RouteContext): void {
  const { service, authentication } = context
  const { policies, desk } = service
  const view = (policy: Policy) => {
    const expired = policies.book.isExpired(policy) ? { expired: true as const } : {}
    return { ...policy.spec, source: policy.source, ...expired, etag: etagOf(policy) }
  }

  app.get(
    '/v1/policies',
    {
      onRequest: authentication.requires('read'),
      schema: {
        ...described({
          tag: 'policies',
          id: 'listPolicies',
          summary: 'List policies',
          description: 'Sorted by name.',
          scope: 'read',
          answers: {
            200: envelope(PolicyPage, 'A page of policies.'),
          },
          failures: [400],
        }),
        querystring: PolicyQuery,
      },
    },
    ({ query }, reply) => {
      const { policies: listed, total, next = null } = policies.book.list(query)
      reply.send(success({ policies: listed.map(view), total, next }))
    },
  )

  app.get(
    '/v1/policies/:name',
    {
      onRequest: authentication.requires('read'),
      schema: {
        ...described({
          tag: 'policies',
          id: 'getPolicy',
          summary: 'Read one policy',
          scope: 'read',
          answers: { 200: envelope(PolicyView, 'The policy.') },
          failures: [400, 404],
        }),
        params: PolicyPath,
      },
    },
    ({ params: { name } }, reply) => {
      const policy = policies.book.get(name)
      if (policy === undefined) throw new ServerError('ERR_POLICY_UNKNOWN', `no policy is called ${show(name)}`)
      reply.header('etag', etagOf(policy)).send(success(view(policy)))
    },
  )

  app.put(
    '/v1/policies/:name',
    {
      onRequest: authentication.requires('admin'),
      // The policy keeper validates the body against the schema and the rules, with clearer messages.
      validatorCompiler: (part: { schema: TSchema; method: string; url: string; httpPart?: string }) =>
        part.httpPart === 'body' ? () => true : validatorCompiler(part),
      schema: {
        ...described({
          tag: 'policies',
          id: 'putPolicy',
          summary: 'Add or replace a policy',
          description:
            'In force immediately on this instance, and within a second on every other instance. Usage is kept for rules that keep their names.',
          scope: 'admin',
          answers: { 200: envelope(PolicyView, 'It was replaced.'), 201: envelope(PolicyView, 'It was added.', 201) },
          failures: [400, 409, 412, 413, 415, 503],
        }),
        params: PolicyPath,
        headers: Type.Object({ 'if-match': Type.Optional(IfMatch), 'if-none-match': Type.Optional(IfNoneMatch) }),
        body: PolicyBody,
      },
    },
    async (request, reply) => {
      const { name } = request.params
      const written: unknown = request.body
      if (written === null || typeof written !== 'object' || Array.isArray(written)) {
        throw new ServerError('ERR_INPUT', `the policy must be an object, got ${show(written)}`)
      }
      if ('name' in written && written.name !== name) {
        throw new ServerError(
          'ERR_INPUT',
          `the policy is called ${show(name)} in the path, and ${show(written.name)} in the body`,
        )
      }
      const { before, after } = await desk.policies.put(callerOf(context, request), { ...written, name }, () =>
        checkExpected(request.headers, name, policies.book.get(name)),
      )
      const code = before === undefined ? 201 : 200
      return reply
        .code(code)
        .header('etag', etagOf(after))
        .send(success(view(after), code))
    },
  )

  app.delete(
    '/v1/policies/:name',
    {
      onRequest: authentication.requires('admin'),
      schema: {
        ...described({
          tag: 'policies',
          id: 'deletePolicy',
          summary: 'Delete a policy',
          description: 'Requests that it covered get the next policy that matches. Deleting `default` restores the built-in one.',
          scope: 'admin',
          answers: { 200: envelope(PolicyView, 'The policy that was deleted.') },
          failures: [400, 404, 409, 412, 503],
        }),
        params: PolicyPath,
        headers: Type.Object({ 'if-match': Type.Optional(IfMatch) }),
      },
    },
    async (request) => {
      const { name } = request.params
      const { before } = await desk.policies.delete(callerOf(context, request), name, () =>
        checkExpected(request.headers, name, policies.book.get(name)),
      )
      return success(view(before))
    },
  )
}
