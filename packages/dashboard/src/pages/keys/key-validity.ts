// The validity of a key: valid, soon to expire, expired or revoked.

import type { Key } from '../../api/answers.ts'
import { waitText } from '../../words/time-text.ts'

export interface KeyValidity {
  readonly tone: 'good' | 'warn' | ''
  readonly text: string
  readonly isAlive: boolean
}

const SOON_MS = 7 * 86_400_000

export function keyValidity({ revoked_at, expires_at }: Key, nowMs: number): KeyValidity {
  if (revoked_at !== null) return { tone: '', text: 'revoked', isAlive: false }
  if (expires_at === null) return { tone: 'good', text: 'alive', isAlive: true }
  const leftMs = Date.parse(expires_at) - nowMs
  if (leftMs <= 0) return { tone: '', text: 'expired', isAlive: false }
  return { tone: leftMs < SOON_MS ? 'warn' : 'good', text: `expires in ${waitText(leftMs / 1000)}`, isAlive: true }
}
