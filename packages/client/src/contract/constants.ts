// Made by packages/server/scripts/write-client-contract.mjs from the contract of the service. Change that, then run npm run derive.
// Limits, patterns and error codes.

/** Limits of requests and lists, in the unit that a name ends in, or in characters. */
export const LIMITS = {
  longestClientId: 256,
  longestRoute: 2048,
  longestName: 64,
  mostAttributes: 16,
  longestValue: 256,
  longestAttributes: 8192,
  longestToken: 131_072,
  mostUnits: 9_007_199_254_740_991,
  mostSimulated: 100,
  mostChecks: 1000,
  mostRules: 16,
  mostLayers: 16,
  mostHolds: 100,
  mostListed: 1000,
  mostLookedAt: 20_000,
  mostRecordNames: 100,
  mostBodyBytes: 16_384,
  mostBatchBytes: 262_144,
  mostTokenBytes: 139_264,
} as const

/** Regular expressions of texts that the service checks. */
export const PATTERNS = {
  name: '^[A-Za-z0-9][A-Za-z0-9._:-]*$',
  attributeName: '^(?!(?:client|route)$)[a-z][a-z0-9_.-]{0,63}$',
} as const

/** Codes of errors that the service answers with. */
export type ServiceErrorCode =
  /** The input does not have the expected form. */
  | 'ERR_INPUT'
  /** No policy has that name. */
  | 'ERR_POLICY_UNKNOWN'
  /** Another policy has the same client, route and conditions. */
  | 'ERR_POLICY_TAKEN'
  /** Too many policies with `applies: always` match the request. */
  | 'ERR_LAYERS'
  /** The policy comes from the configuration file and can only be changed there. */
  | 'ERR_POLICY_FROM_FILE'
  /** The built-in default can be replaced, not deleted. */
  | 'ERR_POLICY_BUILT_IN'
  /** No API key has that id. */
  | 'ERR_KEY_UNKNOWN'
  /** The name is in use by a valid key. */
  | 'ERR_KEY_TAKEN'
  /** It is the last key with the scope admin. It is revoked only with force. */
  | 'ERR_KEY_LAST'
  /** The policy has a concurrency rule, so the request needs a hold. Use POST /v1/reserve instead of a check. */
  | 'ERR_NEEDS_RESERVE'
  /** The hold was settled or cancelled before, or has expired. */
  | 'ERR_HOLD'
  /** The client has too many open holds under this policy. */
  | 'ERR_HOLDS'
  /** The token is not that of a hold which this API key has opened. */
  | 'ERR_HOLD_TOKEN'
  /** The maximum number is reached. */
  | 'ERR_FULL'
  /** The configuration cannot work. */
  | 'ERR_CONFIG'
  /** Another process uses the data folder. */
  | 'ERR_DATA_LOCKED'
  /** A file of the data folder is damaged. */
  | 'ERR_DATA_DAMAGED'
  /** A file of the data folder, or the tables of the store, are of a newer version. */
  | 'ERR_DATA_VERSION'
  /** The policy is not what If-Match or If-None-Match expects. */
  | 'ERR_PRECONDITION'
  /** Another instance made a change at the same moment. */
  | 'ERR_CONFLICT'
  /** The store lost policies or keys. Nothing can be changed until they are restored. */
  | 'ERR_RECORDS_LOST'
  /** Another instance knows more of the lost changes. Restore from that instance. */
  | 'ERR_RECORDS_BEHIND'
  /** The API key is missing, unknown, revoked or expired. */
  | 'ERR_UNAUTHENTICATED'
  /** The API key lacks the scope that this needs. */
  | 'ERR_FORBIDDEN'
  /** Too many requests without a valid API key came from this address. */
  | 'ERR_AUTH_LIMITED'
  /** This API key was used for too many sign-ins to the dashboard. */
  | 'ERR_SIGN_IN_LIMITED'
  /** There is nothing at this path. */
  | 'ERR_NOT_FOUND'
  /** The path exists but does not accept this method. Allow lists the methods that it accepts. */
  | 'ERR_METHOD'
  /** The request did not arrive in time. */
  | 'ERR_TOO_SLOW'
  /** The body is too large. */
  | 'ERR_TOO_LARGE'
  /** The headers are too large. */
  | 'ERR_HEADERS_TOO_LARGE'
  /** The body is not JSON. */
  | 'ERR_MEDIA_TYPE'
  /** Too many streams, sessions or simulations are open already. */
  | 'ERR_BUSY'
  /** The service is starting or stopping. */
  | 'ERR_NOT_READY'
  /** The store did not answer, and there is no fallback. */
  | 'ERR_STORE'
  /** An unexpected error occurred. */
  | 'ERR_INTERNAL'
  /** The change was made, but could not be written to the audit log. */
  | 'ERR_AUDIT'
  /** The change could not be stored. */
  | 'ERR_DATA_WRITE'
  /** The answer of the store was lost, so the change may have been made. Look, then repeat it. */
  | 'ERR_DATA_UNKNOWN'
