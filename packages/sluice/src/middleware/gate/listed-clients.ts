// Lookups in the lists of clients that pass or are blocked.
// Invariant: the client's address is read only for a list that may contain addresses, because some runtimes do not know it.

import type { Subject } from '../../core/subject.ts'
import { isNat64 } from '../../http/address.ts'
import type { ClientList } from '../../http/client-list.ts'
import type { GateContext } from './request-context.ts'

export function allowsAddress(allow: ClientList, context: GateContext): boolean {
  return mayListAddress(allow) && allow.hasAddress(context.address)
}

/** The address of a NAT64 translator contains the client's, which is looked up too. */
export function blocksAddress(block: ClientList, context: GateContext): boolean {
  if (!mayListAddress(block)) return false
  const { bytes } = context.address
  return block.hasAddress({ bytes }) || (bytes !== undefined && isNat64(bytes) && block.hasAddress({ bytes: bytes.subarray(12) }))
}

/** True if the list has the key, or one value of an object of keys. The limiter refuses values that are not subjects. */
export function hasSubject(list: ClientList, subject: Subject): boolean {
  return typeof subject === 'string' ? list.hasKey(subject) : Object.values(subject ?? {}).some((key) => list.hasKey(key))
}

/** A list that the application made itself may lack the property. */
function mayListAddress({ listsAddresses }: ClientList): boolean {
  return listsAddresses !== false
}
