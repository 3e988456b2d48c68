// Error codes of the HTTP API. Codes never change, because programs match on them.

/** Every code with its HTTP status and its meaning. */
export const SERVER_ERROR_CODES = {
  ERR_INPUT: { status: 400, meaning: 'The input does not have the expected form.' },
  ERR_POLICY_UNKNOWN: { status: 404, meaning: 'No policy has that name.' },
  ERR_POLICY_TAKEN: { status: 409, meaning: 'Another policy has the same client and route.' },
  ERR_POLICY_FROM_FILE: { status: 409, meaning: 'The policy comes from the configuration file and can only be changed there.' },
  ERR_POLICY_BUILT_IN: { status: 409, meaning: 'The built-in default can be replaced, not deleted.' },
  ERR_KEY_UNKNOWN: { status: 404, meaning: 'No API key has that id.' },
  ERR_KEY_TAKEN: { status: 409, meaning: 'The name is in use by a valid key.' },
  ERR_KEY_LAST: { status: 409, meaning: 'It is the last key with the scope admin. It is revoked only with force.' },
  ERR_NEEDS_RESERVE: {
    status: 409,
    meaning: 'The policy has a concurrency rule, so the request needs a hold. Use POST /v1/reserve instead of a check.',
  },
  ERR_HOLD: { status: 409, meaning: 'The hold was settled or cancelled before, or has expired.' },
  ERR_HOLDS: { status: 429, meaning: 'The client has too many open holds under this policy.' },
  ERR_HOLD_TOKEN: { status: 400, meaning: 'The token is not that of a hold which this API key has opened.' },
  ERR_FULL: { status: 409, meaning: 'The maximum number is reached.' },
  ERR_CONFIG: { status: 500, meaning: 'The configuration cannot work.' },
  ERR_DATA_LOCKED: { status: 500, meaning: 'Another process uses the data folder.' },
  ERR_DATA_DAMAGED: { status: 500, meaning: 'A file of the data folder is damaged.' },
  ERR_DATA_VERSION: { status: 500, meaning: 'A file of the data folder, or the tables of the store, are of a newer version.' },
  ERR_PRECONDITION: { status: 412, meaning: 'The policy is not what If-Match or If-None-Match expects.' },
  ERR_CONFLICT: { status: 409, meaning: 'Another instance made a change at the same moment.' },
  ERR_RECORDS_LOST: { status: 503, meaning: 'The store lost policies or keys. Nothing can be changed until they are restored.' },
  ERR_RECORDS_BEHIND: { status: 409, meaning: 'Another instance knows more of the lost changes. Restore from that instance.' },
  ERR_UNAUTHENTICATED: { status: 401, meaning: 'The API key is missing, unknown, revoked or expired.' },
  ERR_FORBIDDEN: { status: 403, meaning: 'The API key lacks the scope that this needs.' },
  ERR_AUTH_LIMITED: { status: 429, meaning: 'Too many requests without a valid API key came from this address.' },
  ERR_SIGN_IN_LIMITED: { status: 429, meaning: 'This API key was used for too many sign-ins to the dashboard.' },
  ERR_NOT_FOUND: { status: 404, meaning: 'There is nothing at this path.' },
  ERR_METHOD: {
    status: 405,
    meaning: 'The path exists but does not accept this method. Allow lists the methods that it accepts.',
  },
  ERR_TOO_SLOW: { status: 408, meaning: 'The request did not arrive in time.' },
  ERR_TOO_LARGE: { status: 413, meaning: 'The body is too large.' },
  ERR_HEADERS_TOO_LARGE: { status: 431, meaning: 'The headers are too large.' },
  ERR_MEDIA_TYPE: { status: 415, meaning: 'The body is not JSON.' },
  ERR_BUSY: { status: 503, meaning: 'Too many streams or sessions are open already.' },
  ERR_NOT_READY: { status: 503, meaning: 'The service is starting or stopping.' },
  ERR_STORE: { status: 503, meaning: 'The store did not answer, and there is no fallback.' },
  ERR_INTERNAL: { status: 500, meaning: 'An unexpected error occurred.' },
  ERR_AUDIT: { status: 500, meaning: 'The change was made, but could not be written to the audit log.' },
  ERR_DATA_WRITE: { status: 503, meaning: 'The change could not be stored.' },
  ERR_DATA_UNKNOWN: {
    status: 503,
    meaning: 'The answer of the store was lost, so the change may have been made. Look, then repeat it.',
  },
} as const

export type ServerErrorCode = keyof typeof SERVER_ERROR_CODES
