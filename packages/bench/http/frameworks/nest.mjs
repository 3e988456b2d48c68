// Nest on Express, its default.

import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler'
import { nestLimiter } from 'sluice/nest'
import { bare, fieldsByHand, peer, sluice, sluiceWithoutFields } from '../frameworks.mjs'
import { ANSWER, limit, RULES, windowMs, writeFields } from '../quota.mjs'

/** @import { ModuleMetadata } from '@nestjs/common' */

export const servers = [
  sluice('{ provide: APP_GUARD, useValue: nestLimiter({ rules }) }', () =>
    start({ providers: [{ provide: APP_GUARD, useValue: nestLimiter({ rules: RULES }) }] }),
  ),
  sluiceWithoutFields(() =>
    start({ providers: [{ provide: APP_GUARD, useValue: nestLimiter({ rules: RULES, headers: false }) }] }),
  ),
  peer('@nestjs/throttler', 'ThrottlerModule.forRoot([{ ttl, limit }]), { provide: APP_GUARD, useClass: ThrottlerGuard }', () =>
    start({
      imports: [ThrottlerModule.forRoot([{ ttl: windowMs, limit }])],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    }),
  ),
  fieldsByHand(() => start({ providers: [{ provide: APP_GUARD, useValue: { canActivate } }] })),
  bare(() => start({})),
]

/** @param {import('@nestjs/common').ExecutionContext} context */
function canActivate(context) {
  const response = context.getArgByIndex(1)
  writeFields((name, value) => response.setHeader(name, value))
  return true
}

/** @param {ModuleMetadata} metadata */
async function start(metadata) {
  class Hello {
    hello() {
      return ANSWER
    }
  }
  // The output of TypeScript for decorators.
  Get()(Hello.prototype, 'hello', /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Hello.prototype, 'hello')))
  Controller()(Hello)
  class Root {}
  Module({ ...metadata, controllers: [Hello] })(Root)
  const app = await NestFactory.create(Root, { logger: false })
  await app.listen(0, '127.0.0.1')
  return app.getHttpServer().address().port
}
