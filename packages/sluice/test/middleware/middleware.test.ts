import {
  express4Framework,
  express5Framework,
  fastify5Framework,
  fetchFramework,
  hono4Framework,
  koa3Framework,
  nest11Framework,
  nodeFramework,
} from './frameworks.ts'
import { middlewareSuite } from './middleware-suite.ts'

middlewareSuite(nodeFramework)
middlewareSuite(express4Framework)
middlewareSuite(express5Framework)
middlewareSuite(fastify5Framework)
middlewareSuite(koa3Framework)
middlewareSuite(hono4Framework)
middlewareSuite(fetchFramework)
middlewareSuite(nest11Framework)
