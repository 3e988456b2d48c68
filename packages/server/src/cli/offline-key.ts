// Makes an API key in a data folder that no service uses: the way in again for somebody who has lost every admin key.

import { existsSync } from 'node:fs'
import type { NewKey } from '../client/answers.ts'
import type { Scope } from '../keys/api-key.ts'
import { UsageError } from './exit-codes.ts'

export interface WantedKey {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt?: Date
}

export async function createInFolder(path: string, { name, scopes, expiresAt }: WantedKey): Promise<NewKey> {
  // Opening a folder makes it, which somebody who misspelt it does not want.
  if (!existsSync(path)) throw new UsageError(`there is no data folder ${path}`)
  const [{ DataFolder }, { KeyRing }, { AuditLog }] = await Promise.all([
    import('../data/data-folder.ts'),
    import('../keys/key-ring.ts'),
    import('../audit/audit-log.ts'),
  ])
  const folder = await DataFolder.open(path)
  try {
    const keys = new KeyRing(folder.records)
    const audit = await AuditLog.open(folder.path)
    try {
      const { key, secret } = await keys.create({
        name,
        scopes: [...scopes],
        ...(expiresAt && { expiresAt: expiresAt.getTime() }),
      })
      await audit.append({ actor: 'cli', action: 'key.create', target: key.id, after: { name, scopes } })
      const createdAt = new Date(key.createdAt)
      return { key: { id: key.id, name, scopes, createdAt, expiresAt, revokedAt: undefined, lastUsedAt: undefined }, secret }
    } finally {
      await audit.close()
      await keys.close()
    }
  } finally {
    await folder.close()
  }
}
