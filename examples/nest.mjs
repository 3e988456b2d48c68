// Nest: a guard for all routes, and a decorator for routes with other options. In TypeScript, the lines below the class would be
// decorators on it: @Controller(), @Get(), @RateLimit({ cost: 10 }). Try:
//   curl -i http://127.0.0.1:3000/
//   curl -i http://127.0.0.1:3000/report

import 'reflect-metadata'
import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { parseRule } from 'sluice'
import { nestLimiter, RateLimit } from 'sluice/nest'

class Reports {
  hello() {
    return 'hello\n'
  }

  report() {
    return 'a long report\n'
  }

  health() {
    return 'fine\n'
  }
}

/**
 * @param {string} name
 * @param {...MethodDecorator} decorators
 */
function decorate(name, ...decorators) {
  const descriptor = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(Reports.prototype, name))
  for (const decorator of decorators) decorator(Reports.prototype, name, descriptor)
}
decorate('hello', Get())
decorate('report', Get('report'), RateLimit({ cost: 10 }))
decorate('health', Get('health'), RateLimit(false))
Controller()(Reports)

class AppModule {}
Module({ controllers: [Reports] })(AppModule)

const app = await NestFactory.create(AppModule, { logger: ['error'] })
app.useGlobalGuards(nestLimiter({ rules: parseRule('15/minute') }))
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
console.log(`listening on http://127.0.0.1:${app.getHttpServer().address().port}/`)
