// The session of these pages: the key that is signed in.

import { computed, signal } from '@preact/signals'
import type { SessionAnswer, SessionKey } from './answers.ts'
import { ApiError, call, whenSignedOut } from './call.ts'

export type Session =
  | { readonly status: 'asking' }
  | { readonly status: 'unreachable'; readonly message: string }
  | { readonly status: 'out' }
  | { readonly status: 'in'; readonly key: SessionKey; readonly keysRequired: boolean }

export const session = signal<Session>({ status: 'asking' })

/** True if the signed-in key may change things. */
export const isAdmin = computed(() => session.value.status === 'in' && session.value.key.scopes.includes('admin'))

whenSignedOut(() => {
  session.value = { status: 'out' }
})

export async function askSession(): Promise<void> {
  try {
    take(await call('getSession'))
  } catch (error) {
    // A failed request does not end a session. Only an answer of the service does.
    if (session.value.status !== 'in') session.value = { status: 'unreachable', message: (error as ApiError).message }
  }
}

/** Throws the service's error if it refuses the key. */
export async function signIn(apiKey: string): Promise<void> {
  // A text that cannot stand in a header cannot be a key.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new ApiError(401, 'ERR_UNAUTHENTICATED', 'what was typed cannot be an API key')
  take(await call('signIn', { header: { 'api-key': apiKey } }))
}

export async function signOut(): Promise<void> {
  take(await call('signOut'))
}

function take({ key, keys_required }: SessionAnswer): void {
  session.value = key === null ? { status: 'out' } : { status: 'in', key, keysRequired: keys_required }
}
