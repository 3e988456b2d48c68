// The message after a start: the address of the service, the key, and a command to try.

import type { Config } from '../config/config.ts'
import { BACKENDS, backendOf } from '../config/store-address.ts'

/** The key for the command to try. */
export type KeyToShow =
  /** No key is required. */
  | { readonly kind: 'none' }
  /** A key that was just printed. */
  | { readonly kind: 'shown'; readonly secret: string }
  /** A key in a file. `secret` is set if it may be shown. */
  | { readonly kind: 'kept'; readonly path: string; readonly secret?: string }
  /** A key that may be created later, because policies and keys cannot be read yet. */
  | { readonly kind: 'awaited'; readonly trouble: string; readonly path: string | undefined }
  /** A key of an earlier start, which only the user has. */
  | { readonly kind: 'yours' }

export interface Welcome {
  readonly address: string
  readonly adminAddress: string
  readonly config: Config
  readonly key: KeyToShow
}

export function welcome({ address, adminAddress, config, key }: Welcome): string {
  const { store, dataFolder } = config
  const where =
    store.kind === 'memory'
      ? `counters in memory, policies and keys in ${dataFolder}`
      : `counters, policies and keys in ${store.kind === 'sqlite' ? store.path : BACKENDS[backendOf(store)].title}`
  return [
    `Sluice listens at ${address}: ${where}.`,
    '',
    ...aboutKey(key),
    ...(adminAddress.startsWith('unix:') ? [] : [`The dashboard is at ${fromHere(adminAddress)}/.`, '']),
    'Try it:',
    '',
    `  ${curl(address, key)}`,
    '',
  ].join('\n')
}

function aboutKey(key: KeyToShow): string[] {
  switch (key.kind) {
    case 'none':
      return ['No API key is required: everybody who can reach this address may do everything.', '']
    case 'shown':
      return []
    case 'kept':
      return key.secret === undefined
        ? [`The admin key is in ${key.path}.`, '']
        : [`The admin key, also in ${key.path}:`, '', `  ${key.secret}`, '']
    case 'awaited': {
      const where = key.path === undefined ? 'printed here' : `put into ${key.path}`
      return [`${key.trouble}. If this is the first start, the admin key will be ${where} when the service is ready.`, '']
    }
    case 'yours':
      return ['The admin key was shown at the first start. Put it into SLUICE_API_KEY.', '']
  }
}

function curl(address: string, key: KeyToShow): string {
  const header = authorization(key)
  return [
    'curl -s',
    ...to(address),
    ...(header === undefined ? [] : [`-H ${header}`]),
    "-H 'Content-Type: application/json'",
    `-d '{"client_id":"acme","route":"/v1/orders"}'`,
  ].join(' ')
}

function authorization(key: KeyToShow): string | undefined {
  if (key.kind === 'none') return undefined
  if (key.kind === 'yours' || key.kind === 'awaited') return '"Api-Key: $SLUICE_API_KEY"'
  if (key.kind === 'kept' && key.secret === undefined) return `"Api-Key: $(cat '${key.path}')"`
  return `'Api-Key: ${key.secret}'`
}

function to(address: string): string[] {
  if (address.startsWith('unix:')) return [`--unix-socket '${address.slice('unix:'.length)}'`, 'http://localhost/v1/check']
  return [`${fromHere(address)}/v1/check`]
}

/** Replaces a wildcard address by loopback. */
function fromHere(address: string): string {
  return address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
