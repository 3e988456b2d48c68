// What a start tells the person who made it: where the service is, the key, and a line to paste.

import type { Config } from '../config/config.ts'

/** Which key the line to paste is for. */
export type Key =
  /** No key is required. */
  | { readonly kind: 'none' }
  /** One that was just shown. */
  | { readonly kind: 'shown'; readonly secret: string }
  /** One that is in a file, and may be shown if it is here. */
  | { readonly kind: 'kept'; readonly path: string; readonly secret?: string }
  /** One that may be made later: policies and keys cannot be read yet. */
  | { readonly kind: 'awaited'; readonly trouble: string; readonly path: string | undefined }
  /** One that only the person has. */
  | { readonly kind: 'yours' }

export interface Welcome {
  readonly address: string
  readonly adminAddress: string
  readonly config: Config
  readonly key: Key
}

export function welcome({ address, adminAddress, config, key }: Welcome): string {
  const { store, dataFolder } = config
  const where =
    store.kind === 'memory' ? `counters in memory, policies and keys in ${dataFolder}` : 'counters, policies and keys in Redis'
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

function aboutKey(key: Key): string[] {
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
      return [`${key.trouble}. If this is the first start, the admin key is ${where} when the service is ready.`, '']
    }
    case 'yours':
      return ['The admin key was given at the first start; put it into SLUICE_API_KEY.', '']
  }
}

function curl(address: string, key: Key): string {
  const header = authorization(key)
  return [
    'curl -s',
    ...to(address),
    ...(header === undefined ? [] : [`-H ${header}`]),
    "-H 'Content-Type: application/json'",
    `-d '{"client_id":"acme","route":"/v1/orders"}'`,
  ].join(' ')
}

function authorization(key: Key): string | undefined {
  if (key.kind === 'none') return undefined
  if (key.kind === 'yours' || key.kind === 'awaited') return '"Api-Key: $SLUICE_API_KEY"'
  if (key.kind === 'kept' && key.secret === undefined) return `"Api-Key: $(cat '${key.path}')"`
  return `'Api-Key: ${key.secret}'`
}

function to(address: string): string[] {
  if (address.startsWith('unix:')) return [`--unix-socket '${address.slice('unix:'.length)}'`, 'http://localhost/v1/check']
  return [`${fromHere(address)}/v1/check`]
}

/** From here, an address for everybody is this machine. */
function fromHere(address: string): string {
  return address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
