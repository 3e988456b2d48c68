// Who is signed in to these pages.

import { computed, signal } from '@preact/signals'
import type { SessionAnswer, SessionKey } from './answers.ts'
import { ApiError, call, get, whenSignedOut } from './call.ts'

export type Session =
  | { readonly state: 'asking' }
  | { readonly state: 'unreachable'; readonly message: string }
  | { readonly state: 'out' }
  | { readonly state: 'in'; readonly key: SessionKey; readonly keysRequired: boolean }

export const session = signal<Session>({ state: 'asking' })

/** Whether whoever is signed in may change things. */
export const isAdmin = computed(() => session.value.state === 'in' && session.value.key.scopes.includes('admin'))

whenSignedOut(() => {
  session.value = { state: 'out' }
})

export async function askSession(): Promise<void> {
  try {
    take(await get<SessionAnswer>('/v1/session'))
  } catch (error) {
    // Who is signed in stays so until the service says otherwise.
    if (session.value.state !== 'in') session.value = { state: 'unreachable', message: (error as ApiError).message }
  }
}

/** Throws what the service says if it refuses the key. */
export async function signIn(apiKey: string): Promise<void> {
  // What cannot stand in a header is no key.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new ApiError(401, 'ERR_UNAUTHENTICATED', 'what was typed cannot be an API key')
  take(await call<SessionAnswer>('POST', '/v1/session', { headers: { 'api-key': apiKey } }))
}

export async function signOut(): Promise<void> {
  take(await call<SessionAnswer>('DELETE', '/v1/session'))
}

function take({ key, keys_required }: SessionAnswer): void {
  session.value = key === null ? { state: 'out' } : { state: 'in', key, keysRequired: keys_required }
}
