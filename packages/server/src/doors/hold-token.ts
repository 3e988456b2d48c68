// Hold tokens: the text that names a hold in settle, cancel and extend.

import { Pair } from '../contract/schemas.ts'
import type { NamedHold } from '../decide/reservations.ts'
import { ServerError } from '../errors.ts'
import { problemsIn } from '../input/check-input.ts'
import { keyIdOfHold, sealHold, unsealHold } from '../keys/hold-seal.ts'
import type { ApiKey, KeyRing } from '../keys/key-ring.ts'

/** Seals tokens if no API keys are required. Then every caller may do everything, and the seal only finds damage. */
const NO_DIGEST = Buffer.alloc(32)

export class HoldTokens {
  readonly #keys: Pick<KeyRing, 'get' | 'digestOf'>

  constructor(keys: Pick<KeyRing, 'get' | 'digestOf'>) {
    this.#keys = keys
  }

  write({ id }: ApiKey, { clientId, route, attributes = {}, held }: NamedHold): string {
    return sealHold(id, this.#keys.digestOf(id) ?? NO_DIGEST, JSON.stringify([clientId, route, attributes, held]))
  }

  /** Throws ERR_HOLD_TOKEN unless the token was made for this key, or for a key of the same name that it replaces. */
  read({ id, name }: ApiKey, token: string): NamedHold {
    const keyId = keyIdOfHold(token)
    const isOwn = keyId !== undefined && (keyId === id || this.#keys.get(keyId)?.name === name)
    const text = isOwn ? unsealHold(token, this.#keys.digestOf(keyId) ?? NO_DIGEST) : undefined
    const named = text === undefined ? undefined : namedIn(text)
    if (named !== undefined) return named
    const message = 'the token is not that of a hold which this API key has opened: it may be damaged, or of another key'
    throw new ServerError('ERR_HOLD_TOKEN', message)
  }
}

/** Reads the text of a token. The owner of a key can seal any text, so its form is checked. */
function namedIn(text: string): NamedHold | undefined {
  try {
    const parts: unknown = JSON.parse(text)
    if (!Array.isArray(parts) || parts.length !== 4 || typeof parts[3] !== 'string') return undefined
    const [clientId, route, attributes, held] = parts
    const named = { client_id: clientId, route, attributes }
    return problemsIn(Pair, named).length === 0 ? { clientId, route, attributes, held } : undefined
  } catch {
    return undefined
  }
}
