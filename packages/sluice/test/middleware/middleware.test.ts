// The behaviour of every door of the middleware, over real sockets. A framework is one line.

import { describe } from 'vitest'
import { express, express4 } from './frameworks/express.ts'
import { fastify } from './frameworks/fastify.ts'
import { fetch } from './frameworks/fetch.ts'
import { hono, honoElsewhere } from './frameworks/hono.ts'
import { koa } from './frameworks/koa.ts'
import { nest } from './frameworks/nest.ts'
import { node } from './frameworks/node.ts'
import { callbackSuite } from './suites/callbacks.ts'
import { chargeSuite } from './suites/charges.ts'
import { connectionSuite } from './suites/connections.ts'
import { failingStoreSuite } from './suites/failing-store.ts'
import { keySuite } from './suites/keys.ts'
import { reservingSuite } from './suites/reserving.ts'
import { responseSuite } from './suites/responses.ts'
import { severalLimitersSuite } from './suites/several-limiters.ts'

describe.each([node, express4, express, fastify, koa, hono, honoElsewhere, fetch, nest])('$name', (framework) => {
  describe('responses', () => responseSuite(framework))
  describe('connections', () => connectionSuite(framework))
  describe('keys', () => keySuite(framework))
  describe('several limiters', () => severalLimitersSuite(framework))
  describe('charges', () => chargeSuite(framework))
  describe('units that are held', () => reservingSuite(framework))
  describe('callbacks', () => callbackSuite(framework))
  describe('a store that stops answering', () => failingStoreSuite(framework))
})
