// A real service for the pages: on a free local port, in a temporary folder, with real checks.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, serve } from 'sluice-server'

export interface LiveService {
  readonly address: string
  /** The admin key. */
  readonly key: string
  /** Calls the API with the admin key. Returns `data`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read many kinds of answers
  call(method: string, path: string, body?: unknown): Promise<any>
  /** Makes `times` checks of one client and route. */
  check(client_id: string, route: string, times?: number): Promise<void>
  newKey(name: string, scope: string): Promise<string>
  stop(): Promise<void>
}

export async function startLiveService(flags: Readonly<Record<string, string>> = {}): Promise<LiveService> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'))
  let key = ''
  const { config, file } = await loadConfig({
    flags: { listen: '127.0.0.1:0', dataFolder: join(folder, 'data'), logLevel: 'silent', drainDelay: '0s', ...flags },
  })
  const service = await serve({
    config,
    file,
    onFirstKey: (secret) => {
      key = secret
    },
  })
  await service.ready
  const call: LiveService['call'] = async (method, path, body) => {
    const response = await fetch(`${service.address}${path}`, {
      method,
      headers: { 'api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const { meta, data } = (await response.json()) as { meta: { status: string; message: string }; data: unknown }
    if (meta.status !== 'ok') throw new Error(`${method} ${path}: ${meta.message}`)
    return data
  }
  return {
    address: service.address,
    key,
    call,
    check: async (client_id, route, times = 1) => {
      await call('POST', '/v1/check/batch', { checks: Array.from({ length: times }, () => ({ client_id, route })) })
    },
    newKey: async (name, scope) => (await call('POST', '/v1/keys', { name, scopes: [scope] })).secret,
    stop: async () => {
      await service.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
