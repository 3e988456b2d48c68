// The door `sluice/http`: headers and bodies for decisions, and addresses of clients. For any framework and any runtime.

export { type CidrList, type CidrListOptions, cidrList, type HasAddress } from './cidr-list.ts'
export { type ClientAddressOptions, clientAddress, type TrustProxy } from './client-address.ts'
export { type ClientList, type ClientListOptions, clientList } from './client-list.ts'
export { draft6Style, draft7Style, legacyStyle } from './earlier-styles.ts'
export type { AddressWarning, ClientAddress, ReadClientAddress, RequestHeaders } from './peer-address.ts'
export { PATH_FOLDS, type PathFold, type PlainPathOptions, plainPath } from './plain-path.ts'
export type { HeaderStyle, ImportedStyle } from './rate-limit-fields.ts'
export { createResponder, type Denial, type PartitionKey, type Responder, type ResponderOptions } from './responder.ts'
export { type RetryHintsOptions, retryHints } from './retry-hints.ts'
export { anthropicStyle, openaiStyle } from './vendor-styles.ts'
