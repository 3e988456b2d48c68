// The port to a namespace of Durable Objects: as much of a binding as the store uses. Nothing of Cloudflare is imported.

import { mustBe } from '../../core/errors.ts'

export interface ObjectStub {
  fetch(
    url: string,
    init: { readonly method: string; readonly body: string },
  ): Promise<{ readonly status: number; text(): Promise<string> }>
}

/** A binding to a namespace of Durable Objects, such as `env.SLUICE`. */
export interface ObjectNamespace {
  idFromName(name: string): unknown
  get(id: unknown, options?: { readonly locationHint?: string }): ObjectStub
}

export function checkNamespace(namespace: unknown): asserts namespace is ObjectNamespace {
  const { idFromName, get } = (namespace ?? {}) as Partial<ObjectNamespace>
  if (typeof idFromName === 'function' && typeof get === 'function') return
  throw mustBe('ERR_OPTION', 'namespace', 'a binding to a namespace of Durable Objects, such as env.SLUICE', namespace)
}
