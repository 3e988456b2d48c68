// The error about a client whose address the runtime does not tell.

import { SluiceError } from '../../core/errors.ts'
import type { AnyOptions } from './options.ts'

/** Makes the error. It names the changes of the options after which the address is not missing. */
export function missingAddress<R>(door: string, options: AnyOptions<R>): SluiceError {
  const message = `${door} cannot find the address of a request in this runtime: ${remedy(options)}`
  return new SluiceError('ERR_OPTION', message, { option: 'peer' })
}

function remedy<R>({ key, allow, block }: AnyOptions<R>): string {
  const hasAddresses = [allow, block].some((list) => list !== undefined && list.listsAddresses !== false)
  if (hasAddresses) return `set peer, or ${key === undefined ? 'key and ' : ''}lists of keys only`
  // With `key`, one of the callbacks has read the address.
  return key === undefined ? 'set key or peer' : 'set peer'
}
