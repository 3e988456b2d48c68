// A block of a client: a policy that always applies and denies, named by its client as the command line names it.

import { blockName } from 'sluice-client/contract'
import type { Policy, PolicySpec } from '../../api/answers.ts'

export interface BlockChoice {
  /** In RFC 3339; empty if the block does not end by itself. */
  readonly expiresAt: string
  readonly reason: string
  readonly showsReason: boolean
}

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
