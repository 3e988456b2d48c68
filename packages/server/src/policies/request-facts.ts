// The facts of a request that select its policies and its counters. Doors take them from their protocols.

/** Named facts beside the client and the route, such as `{ plan: 'free', org: 'acme' }`. */
export type Attributes = Readonly<Record<string, string>>

export interface RequestFacts {
  readonly clientId: string
  readonly route: string
  readonly attributes?: Attributes | undefined
}
