// A real service for tests: on a free port of 127.0.0.1, in a temporary folder, called over real sockets.

import { onTestFinished, vi } from 'vitest'
import { loadConfig } from '../src/config/config.ts'
import { type RunningService, type ServeOptions, serve } from '../src/serve.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Start time of the test clock: 41 seconds before a full minute. The clock stands still until a test moves it. */
export const START = Date.parse('2027-01-15T08:00:19.000Z')

export function advance(ms: number): void {
  vi.setSystemTime(Date.now() + ms)
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests read all kinds of bodies
  readonly body: any
}

export interface TestService extends RunningService {
  /** The admin key of the first start. */
  readonly key: string
  readonly folder: string
  /** Calls the service with the admin key by default. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
}

export interface TestServiceOptions extends Omit<ServeOptions, 'config' | 'file'> {
  readonly flags?: Readonly<Record<string, string | boolean>>
  /** A folder that outlives the service. Default: a new one. */
  readonly folder?: string
  /** The admin key, if this is not a first start. */
  readonly key?: string
}

/** Starts a service, and stops it when the test has finished. */
export async function startService({
  flags,
  folder = temporaryFolder(),
  key: known = '',
  ...options
}: TestServiceOptions = {}): Promise<TestService> {
  let key = known
  if (!vi.isFakeTimers()) {
    vi.useFakeTimers({ toFake: ['Date'], now: START })
    onTestFinished(() => {
      vi.useRealTimers()
    })
  }
  const { config, file } = await loadConfig({
    flags: { listen: '127.0.0.1:0', dataFolder: folder, logLevel: 'silent', drainDelay: '0s', ...flags },
  })
  const running = await serve({
    config,
    file,
    onFirstKey: (secret) => {
      key = secret
    },
    ...options,
  })
  onTestFinished(() => running.close())
  const call: TestService['call'] = (method, path, body, headers = {}) =>
    callService(running.adminAddress, key, method, path, body, headers)
  return Object.assign(running, { key, folder, call })
}

export async function callService(
  address: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const response = await fetch(`${address}${path}`, {
    method,
    headers: { 'api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}
