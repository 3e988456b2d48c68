import { createServer } from 'node:http'
import createExpress from 'express'
// @ts-expect-error: Express 4 under another name comes without types.
import createExpress4 from 'express4'
import { expressLimiter } from '../../../src/middleware/express.ts'
import { askedNode, type Framework, listen, madeOnce, sendNode } from './framework.ts'

function expressFramework(name: string, create: typeof createExpress): Framework {
  return {
    name,
    asked: askedNode,
    speaksHttp2: false,
    answersWithResponse: false,
    start({ limiters, handle, onError }) {
      const app = create()
      for (const limiter of limiters.map(madeOnce((options) => expressLimiter(options)))) app.use(limiter)
      app.use((req, res, next) => {
        handle(askedNode(req)).then((answered) => {
          res.status(answered.status)
          if (typeof answered.body === 'string') res.send(answered.body)
          else sendNode(res, answered)
        }, next)
      })
      app.use(((error, _req, res, _next) => {
        onError(error)
        res.status(500).send('failed')
      }) as createExpress.ErrorRequestHandler)
      return listen(createServer(app))
    },
  }
}

export const express = expressFramework('express', createExpress)
export const express4 = expressFramework('express 4', createExpress4)
