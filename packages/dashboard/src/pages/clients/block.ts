// A block of a client: a policy that always applies and denies, named by its client as the command line names it.

import type { Policy, PolicySpec } from '../../api/answers.ts'

export interface BlockChoice {
  /** In RFC 3339; empty if the block does not end by itself. */
  readonly expiresAt: string
  readonly reason: string
  readonly showsReason: boolean
}

/** Clients that stand in the name of a policy as they are. */
const PLAIN = /^[A-Za-z0-9._:-]{1,58}$/

export async function blockOf(clientId: string, { expiresAt, reason, showsReason }: BlockChoice): Promise<Partial<PolicySpec>> {
  return {
    name: await blockName(clientId),
    client: clientId,
    applies: 'always',
    mode: 'deny',
    ...(expiresAt !== '' && { expires_at: expiresAt }),
    ...(reason !== '' && { reason }),
    ...(showsReason && reason !== '' && { show_reason: true }),
  }
}

/** Returns the policy in force that denies everything to exactly this client, whoever made it. */
export function blockAmong(policies: readonly Policy[], clientId: string): Policy | undefined {
  return policies.find(
    ({ client, mode, applies, where, expired }) =>
      client === clientId && mode === 'deny' && applies === 'always' && where === undefined && !expired,
  )
}

/** A client whose characters do not fit a name is named by a hash. */
async function blockName(clientId: string): Promise<string> {
  if (PLAIN.test(clientId) && !clientId.startsWith('sha256:')) return `block:${clientId}`
  if (crypto.subtle === undefined) throw new Error('The name of this client needs a hash, which browsers offer over HTTPS only.')
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(clientId)))
  const hex = [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `block:sha256:${hex.slice(0, 32)}`
}
