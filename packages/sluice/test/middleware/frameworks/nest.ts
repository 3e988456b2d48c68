import 'reflect-metadata'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { All, Controller, Module, Req, Res } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { nestLimiter } from '../../../src/middleware/nest.ts'
import { askedNode, type Framework, madeOnce, sendNode } from './framework.ts'

interface ExpressResponse {
  status(code: number): unknown
  send(body: string): void
}

export const nest: Framework = {
  name: 'nest',
  asked: askedNode,
  speaksHttp2: false,
  answersWithResponse: false,
  async start({ limiters, handle, onError }) {
    class Everything {
      async answer(req: IncomingMessage, res: ServerResponse & ExpressResponse): Promise<void> {
        const answered = await handle(askedNode(req))
        res.status(answered.status)
        if (typeof answered.body === 'string') res.send(answered.body)
        else sendNode(res, answered)
      }
    }
    // The output of TypeScript for decorators.
    const { prototype } = Everything
    All('{*path}')(prototype, 'answer', Object.getOwnPropertyDescriptor(prototype, 'answer') as PropertyDescriptor)
    Req()(prototype, 'answer', 0)
    Res()(prototype, 'answer', 1)
    Controller()(Everything)
    class Root {}
    Module({ controllers: [Everything] })(Root)
    const app = await NestFactory.create(Root, { logger: false })
    app.useGlobalGuards(...limiters.map(madeOnce((options) => nestLimiter(options))))
    app.useGlobalFilters({
      catch(error, host) {
        onError(error)
        host.switchToHttp().getResponse().status(500).send('failed')
      },
    })
    await app.listen(0, '127.0.0.1')
    const server = app.getHttpServer()
    return {
      port: server.address().port,
      async stop() {
        server.closeAllConnections()
        await app.close()
      },
    }
  },
}
