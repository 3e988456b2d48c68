// Made by packages/server/scripts/write-client-contract.mjs from the contract of the service. Change that, then run npm run derive.
// Operations by their id: where they are, what they take, and the `data` of their answers.

import type {
  Readiness,
  Check,
  Answer,
  Batch,
  BatchAnswer,
  Reserve,
  Reserved,
  Settle,
  Settled,
  Cancel,
  Cancelled,
  Extend,
  Extended,
  Refund,
  Counted,
  Usage,
  Counter,
  SetCount,
  OpenHolds,
  CancelHold,
  CancelledHold,
  Policy,
  PolicyPage,
  PolicySpec,
  Simulation,
  ShadowReport,
  Key,
  KeyList,
  NewKey,
  KeyWithSecret,
  Rotation,
  AuditPage,
  Records,
  Restore,
  Restored,
  Stats,
  History,
  Top,
  Activity,
  Fleet,
  Session,
  Status,
} from './shapes.ts'

/** Method and path of each operation. */
export const ROUTES = {
  getLiveness: ['GET', '/livez'],
  getReadiness: ['GET', '/readyz'],
  check: ['POST', '/v1/check'],
  checkBatch: ['POST', '/v1/check/batch'],
  checkFixedWindow: ['POST', '/api/v1/rate/fixed-window'],
  authorize: ['GET', '/v1/authorize'],
  reserve: ['POST', '/v1/reserve'],
  settle: ['POST', '/v1/settle'],
  cancel: ['POST', '/v1/cancel'],
  extend: ['POST', '/v1/extend'],
  refund: ['POST', '/v1/refund'],
  setFixedWindow: ['PUT', '/api/v1/rate/fixed-window/set'],
  getUsage: ['GET', '/v1/usage'],
  resetCounter: ['POST', '/v1/reset'],
  setCounter: ['POST', '/v1/set'],
  getHolds: ['GET', '/v1/holds'],
  cancelHold: ['POST', '/v1/holds/cancel'],
  listPolicies: ['GET', '/v1/policies'],
  getPolicy: ['GET', '/v1/policies/{name}'],
  putPolicy: ['PUT', '/v1/policies/{name}'],
  deletePolicy: ['DELETE', '/v1/policies/{name}'],
  simulatePolicies: ['POST', '/v1/simulate'],
  getShadowReport: ['GET', '/v1/policies/{name}/shadow'],
  listKeys: ['GET', '/v1/keys'],
  createKey: ['POST', '/v1/keys'],
  rotateKey: ['POST', '/v1/keys/{id}/rotate'],
  revokeKey: ['DELETE', '/v1/keys/{id}'],
  readAudit: ['GET', '/v1/audit'],
  getRecords: ['GET', '/v1/records'],
  restoreRecords: ['POST', '/v1/records/restore'],
  getStats: ['GET', '/v1/stats'],
  getHistory: ['GET', '/v1/history'],
  getTop: ['GET', '/v1/top'],
  getActivity: ['GET', '/v1/activity'],
  getFleet: ['GET', '/v1/fleet'],
  watchEvents: ['GET', '/v1/events'],
  getMetrics: ['GET', '/metrics'],
  getOpenapi: ['GET', '/openapi.json'],
  signIn: ['POST', '/v1/session'],
  getSession: ['GET', '/v1/session'],
  signOut: ['DELETE', '/v1/session'],
  getStatus: ['GET', '/v1/status'],
} as const

export type OperationId = keyof typeof ROUTES

export interface Operations {
  /** Is the process alive? */
  readonly getLiveness: {
    readonly data: {
      readonly state: 'alive'
    }
  }
  /** Is the service ready for requests? */
  readonly getReadiness: {
    readonly data: Readiness
  }
  /** Decide one check */
  readonly check: {
    readonly body: Check
    readonly data: Answer
  }
  /** Decide many checks at once */
  readonly checkBatch: {
    readonly body: Batch
    readonly data: BatchAnswer
  }
  /** Decide one check, in the older form */
  readonly checkFixedWindow: {
    readonly header: {
      /** The client to count. */
      readonly 'x-client-id': string
    }
    readonly body: {
      /** The route that is requested. */
      readonly route: string
    }
    readonly data: Answer
  }
  /** Decide a request that a proxy is about to forward */
  readonly authorize: {
    readonly query: {
      /** The client to count. Default: the address. */
      readonly client?: string | undefined
      /** The request header that names the client. The proxy must set it itself. If a request lacks it, the address is counted. A value of more than 256 characters, or one that is not UTF-8, is counted under its first 64 characters, `~sha256-` and its SHA-256 in base64url. */
      readonly client_header?: string | undefined
      /** The route. Default: the path of the forwarded request. */
      readonly route?: string | undefined
      /** Puts the method, the host or both before the path in the route, as in `POST example.com/orders`. */
      readonly with?: 'method' | 'host' | 'method,host' | undefined
      /** Differences in the spelling of a path to ignore. */
      readonly fold?: string | undefined
      /** Units to spend; 1 by default. */
      readonly cost?: number | undefined
      /** The status of every denial. nginx needs 403. Default: 429, and 503 if the store does not answer and the failure mode is `deny`. */
      readonly deny_status?: 403 | 429 | 503 | undefined
    }
    readonly data: unknown
  }
  /** Hold units until it is known what was used */
  readonly reserve: {
    readonly body: Reserve
    readonly data: Reserved
  }
  /** End a hold and charge what was used */
  readonly settle: {
    readonly body: Settle
    readonly data: Settled
  }
  /** End a hold and charge nothing */
  readonly cancel: {
    readonly body: Cancel
    readonly data: Cancelled
  }
  /** Let a hold expire later */
  readonly extend: {
    readonly body: Extend
    readonly data: Extended
  }
  /** Refund units */
  readonly refund: {
    readonly body: Refund
    readonly data: Counted
  }
  /** Set the limit of one client and route, in the older form */
  readonly setFixedWindow: {
    readonly header: {
      /** The client to count. */
      readonly 'x-client-id': string
    }
    readonly body: {
      /** The route that is requested. */
      readonly route: string
      readonly limit: number
      readonly window: number
    }
    readonly data: {
      readonly client_id: string
      readonly route: string
      readonly limit: number
      readonly window: number
    }
  }
  /** See what a client has used */
  readonly getUsage: {
    readonly query: {
      /** The client to count. */
      readonly client_id: string
      /** The route that is requested. */
      readonly route: string
      /** The attributes of the request, as an object in JSON. */
      readonly attributes?: string | undefined
      /** Units to spend; 1 by default. */
      readonly cost?: number | undefined
    }
    readonly data: Usage
  }
  /** Reset what a client has used */
  readonly resetCounter: {
    readonly body: Counter
    readonly data: Counted
  }
  /** Set a counter to a number */
  readonly setCounter: {
    readonly body: SetCount
    readonly data: Counted
  }
  /** See the open holds of a client */
  readonly getHolds: {
    readonly query: {
      /** The client to count. */
      readonly client_id: string
    }
    readonly data: OpenHolds
  }
  /** Cancel an open hold of the list */
  readonly cancelHold: {
    readonly body: CancelHold
    readonly data: CancelledHold
  }
  /** List policies */
  readonly listPolicies: {
    readonly query: {
      /** Text to find in the name, client or route. */
      readonly search?: string | undefined
      readonly after?: string | undefined
      /** Policies at most; 100 by default. */
      readonly limit?: number | undefined
    }
    readonly data: PolicyPage
  }
  /** Read one policy */
  readonly getPolicy: {
    readonly path: {
      readonly name: string
    }
    readonly data: Policy
  }
  /** Add or replace a policy */
  readonly putPolicy: {
    readonly path: {
      readonly name: string
    }
    readonly header: {
      /** Change the policy only if it still has this `etag`. `*`: only if it exists. */
      readonly 'if-match'?: string | undefined
      /** `*`: add the policy only if none with this name exists. */
      readonly 'if-none-match'?: string | undefined
    }
    readonly body: PolicySpec
    readonly data: Policy
  }
  /** Delete a policy */
  readonly deletePolicy: {
    readonly path: {
      readonly name: string
    }
    readonly header: {
      /** Change the policy only if it still has this `etag`. `*`: only if it exists. */
      readonly 'if-match'?: string | undefined
    }
    readonly data: Policy
  }
  /** See whom proposed policies would deny */
  readonly simulatePolicies: {
    readonly body: {
      /** Proposed policies, each with its name. They replace those of the same names, or are added. */
      readonly policies?: readonly PolicySpec[] | undefined
      /** Names of policies to leave out. */
      readonly without?: readonly string[] | undefined
      /** Clients in each list; 20 by default. */
      readonly top?: number | undefined
    }
    readonly data: Simulation
  }
  /** See what a policy in shadow mode would have denied */
  readonly getShadowReport: {
    readonly path: {
      readonly name: string
    }
    readonly query: {
      /** Clients at most; 20 by default. */
      readonly limit?: number | undefined
    }
    readonly data: ShadowReport
  }
  /** List API keys */
  readonly listKeys: {
    readonly data: KeyList
  }
  /** Create an API key */
  readonly createKey: {
    readonly body: NewKey
    readonly data: KeyWithSecret
  }
  /** Rotate an API key */
  readonly rotateKey: {
    readonly path: {
      readonly id: string
    }
    readonly body: Rotation
    readonly data: KeyWithSecret
  }
  /** Revoke an API key */
  readonly revokeKey: {
    readonly path: {
      readonly id: string
    }
    readonly query: {
      /** true: revokes the key even if no other key has the scope `admin`. */
      readonly force?: 'true' | 'false' | undefined
    }
    readonly data: Key
  }
  /** Read the audit log */
  readonly readAudit: {
    readonly query: {
      /** Administrative changes, or sign-ins to the dashboard (including refused ones). Default: changes. */
      readonly of?: 'changes' | 'sign-ins' | undefined
      readonly before?: string | undefined
      /** Only entries about this target: the name of a policy, the id of a key, or a client and a route separated by a space. */
      readonly target?: string | undefined
      /** Only entries with this text in the action, the target or the actor's id or name, or in the present name of a key that is the target, ignoring case. */
      readonly search?: string | undefined
      /** Entries at most; 100 by default. */
      readonly limit?: number | undefined
    }
    readonly data: AuditPage
  }
  /** Check whether policies and keys were lost */
  readonly getRecords: {
    readonly data: Records
  }
  /** Restore lost policies and keys */
  readonly restoreRecords: {
    readonly body: Restore
    readonly data: Restored
  }
  /** See the last hour, second by second */
  readonly getStats: {
    readonly query: {
      /** Seconds to go back; 3600 by default. */
      readonly seconds?: number | undefined
      /** Only this policy. */
      readonly policy?: string | undefined
    }
    readonly data: Stats
  }
  /** See the last month, hour by hour */
  readonly getHistory: {
    readonly query: {
      /** Hours to go back; 744 by default. */
      readonly hours?: number | undefined
      /** Only this policy. */
      readonly policy?: string | undefined
    }
    readonly data: History
  }
  /** See the busiest clients of the last hour */
  readonly getTop: {
    readonly query: {
      /** The outcome to count; denied by default. */
      readonly by?: 'denied' | 'allowed' | undefined
      /** Clients at most; 10 by default. */
      readonly limit?: number | undefined
    }
    readonly data: Top
  }
  /** See the last hour of one client, minute by minute */
  readonly getActivity: {
    readonly query: {
      /** The client. */
      readonly client_id: string
    }
    readonly data: Activity
  }
  /** See all instances together */
  readonly getFleet: {
    readonly data: Fleet
  }
  /** Watch checks as they happen */
  readonly watchEvents: {
    readonly data: unknown
  }
  /** Metrics for Prometheus */
  readonly getMetrics: {
    readonly data: unknown
  }
  /** The description of this API */
  readonly getOpenapi: {
    readonly data: unknown
  }
  /** Sign in to the dashboard */
  readonly signIn: {
    readonly data: Session
  }
  /** See who is signed in to the dashboard */
  readonly getSession: {
    readonly data: Session
  }
  /** Sign out of the dashboard */
  readonly signOut: {
    readonly data: Session
  }
  /** See the status of the service and its store */
  readonly getStatus: {
    readonly data: Status
  }
}
