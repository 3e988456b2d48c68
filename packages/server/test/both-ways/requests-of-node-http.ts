// Counts the requests that node:http reads in this process. Fast checks are not among them.

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { onTestFinished } from 'vitest'

const CHANNEL = 'http.server.request.start'

/** Returns a function that returns the number of requests since this call. */
export function requestsOfNodeHttp(): () => number {
  let count = 0
  const onRequest = (): void => {
    count += 1
  }
  subscribe(CHANNEL, onRequest)
  onTestFinished(() => {
    unsubscribe(CHANNEL, onRequest)
  })
  return () => count
}
