// Limits of the HTTP API. Schemas, routes, the client and the pages take them from here.

/** Limits in the unit that a name ends in, or in characters. */
export const LIMITS = {
  longestClientId: 256,
  longestRoute: 2048,
  /** The name of a policy or a rule. */
  longestName: 64,
  /** Attributes of one request, and conditions of one policy. */
  mostAttributes: 16,
  /** The value of an attribute. */
  longestValue: 256,
  /** Attributes in a query, as JSON. The query has to fit the head of a request. */
  longestAttributes: 8192,
  /** Most have about 250 characters. The longest client, route and attributes that fit a body take 30,000, and each held rule its names. */
  longestToken: 131_072,
  /** Units of one call. */
  mostUnits: Number.MAX_SAFE_INTEGER,
  /** Policies of one simulation. */
  mostSimulated: 100,
  /** Checks of one batch. */
  mostChecks: 1000,
  /** Rules of one policy. Each rule makes every check slower. */
  mostRules: 16,
  /** Policies with `applies: always` that match one request. Each makes its check slower. */
  mostLayers: 16,
  /** Holds of one list. */
  mostHolds: 100,
  /** Policies or audit entries of one page. */
  mostListed: 1000,
  /** Audit entries that are read for one page, however few match. */
  mostLookedAt: 20_000,
  /** Names in one list of records. Enough to recognise what happened, however many records there are. */
  mostRecordNames: 100,
  mostBodyBytes: 16 * 1024,
  mostBatchBytes: 256 * 1024,
  /** A body with the token of a hold. */
  mostTokenBytes: 136 * 1024,
} as const
