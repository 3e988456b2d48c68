import type { IncomingMessage, ServerResponse } from 'node:http'
import { nodeLimiter } from '../../../src/middleware/node.ts'
import { askedNode, type Framework, listen, madeOnce, sendNode, serverOf } from './framework.ts'

export const node: Framework = {
  name: 'node',
  asked: askedNode,
  speaksHttp2: true,
  answersWithResponse: false,
  start({ limiters, handle, onError, http2 }) {
    const steps = limiters.map(madeOnce((options) => nodeLimiter(options)))
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      const fail = (error: unknown): void => {
        onError(error)
        response.statusCode = 500
        response.end('failed')
      }
      const take = (step: number): void => {
        if (step < steps.length) {
          steps[step](request, response, (error) => (error === undefined ? take(step + 1) : fail(error)))
          return
        }
        handle(askedNode(request)).then((answered) => {
          response.statusCode = answered.status
          sendNode(response, answered)
        }, fail)
      }
      take(0)
    }
    return listen(serverOf(listener, http2))
  },
}
