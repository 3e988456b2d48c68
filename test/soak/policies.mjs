// The policies of the traffic of a soak. Each applies to clients whose names begin with its own name. Policies of walkers
// have a model.

import { BucketModel, LogModel, WindowModel } from './models.mjs'

/** @import { Model } from './models.mjs' */

/** @typedef {{ algorithm: string, limit?: number } & Record<string, unknown>} RuleSpec */
/** @typedef {{ name: string, rule: RuleSpec, makeModel: () => Model }} Walked */

/**
 * Limits of at least fifty, so that an error of two per cent is a whole unit.
 * @type {readonly Walked[]}
 */
export const WALKED = [
  {
    name: 'walk-clock',
    rule: { algorithm: 'fixed-window', limit: 60, window: '5s', anchor: 'clock' },
    makeModel: () => new WindowModel({ limit: 60, windowMs: 5000, anchor: 'clock' }),
  },
  {
    name: 'walk-first',
    rule: { algorithm: 'fixed-window', limit: 50, window: '2s' },
    makeModel: () => new WindowModel({ limit: 50, windowMs: 2000, anchor: 'first-hit' }),
  },
  {
    name: 'walk-log',
    rule: { algorithm: 'sliding-log', limit: 50, window: '2s' },
    makeModel: () => new LogModel({ limit: 50, windowMs: 2000 }),
  },
  {
    name: 'walk-bucket',
    rule: { algorithm: 'token-bucket', capacity: 60, refill: 20, every: '1s' },
    makeModel: () => new BucketModel({ limit: 60, perMs: 20 / 1000 }),
  },
  {
    name: 'walk-gcra',
    rule: { algorithm: 'gcra', limit: 10, period: '1s', burst: 50 },
    makeModel: () => new BucketModel({ limit: 50, perMs: 10 / 1000 }),
  },
]

/** A new client has four of five units left after its first check. Counts last ten seconds. */
export const FLOODED_REMAIN = 4
/** @type {readonly { name: string, rule: RuleSpec }[]} */
export const FLOODED = [
  { name: 'flood-window', rule: { algorithm: 'fixed-window', limit: 5, window: '10s' } },
  { name: 'flood-bucket', rule: { algorithm: 'token-bucket', capacity: 5, refill: 5, every: '10s' } },
  { name: 'flood-log', rule: { algorithm: 'sliding-log', limit: 5, window: '10s' } },
  { name: 'flood-sliding', rule: { algorithm: 'sliding-window', limit: 5, window: '5s' } },
]

/** One window that outlasts every key. A fault of two seconds sees more requests than two stand-ins may grant. */
export const HOT_LIMIT = 50
export const FREE_LIMIT = 1_000_000
/** @type {readonly { name: string, rule: RuleSpec }[]} */
export const FAULT_KEYS = [
  { name: 'hot', rule: { algorithm: 'fixed-window', limit: HOT_LIMIT, window: '1h' } },
  { name: 'free', rule: { algorithm: 'fixed-window', limit: FREE_LIMIT, window: '1h' } },
]

/** Policies whose counts change only after hours without requests. @type {readonly { name: string, rule: RuleSpec }[]} */
export const IDLE = [
  { name: 'idle-window', rule: { algorithm: 'fixed-window', limit: 100, window: '2h' } },
  { name: 'idle-bucket', rule: { algorithm: 'token-bucket', capacity: 100, refill: 1, every: '1d' } },
  { name: 'idle-log', rule: { algorithm: 'sliding-log', limit: 100, window: '2h' } },
]

/** The policy for the use of rotated keys. */
export const KEY_USE = { name: 'key-use', rule: { algorithm: 'fixed-window', limit: 1_000_000, window: '1m' } }

/** Clients of layers have names that begin so. */
export const LAYERED_CLIENTS = 'layered-'

/**
 * Three policies that decide together about each request of such a client: one for its organisation, one for its plan in this
 * organisation, and the most specific one for the client.
 * @type {readonly { name: string, policy: Record<string, unknown>, makeModel: () => Model }[]}
 */
export const LAYERS = [
  {
    name: 'layer-org',
    policy: {
      ...{ client: `${LAYERED_CLIENTS}*`, applies: 'always', per: 'org' },
      rules: [{ algorithm: 'fixed-window', limit: 90, window: '3s' }],
    },
    makeModel: () => new WindowModel({ limit: 90, windowMs: 3000, anchor: 'first-hit' }),
  },
  {
    name: 'layer-plan',
    policy: {
      ...{ client: `${LAYERED_CLIENTS}*`, applies: 'always', where: { plan: 'free' }, per: ['org', 'plan'] },
      rules: [{ algorithm: 'token-bucket', capacity: 60, refill: 15, every: '1s' }],
    },
    makeModel: () => new BucketModel({ limit: 60, perMs: 15 / 1000 }),
  },
  {
    name: 'layer-client',
    policy: {
      ...{ client: `${LAYERED_CLIENTS}*`, scope: 'policy' },
      rules: [{ algorithm: 'sliding-log', limit: 50, window: '2s' }],
    },
    makeModel: () => new LogModel({ limit: 50, windowMs: 2000 }),
  },
]

export const EVERY_POLICY = [...WALKED, ...FLOODED, ...FAULT_KEYS, ...IDLE, KEY_USE]
