// The list of all faults, in the order of `npm run faults`. Eviction is not included: a counter that Redis evicted looks like
// one that never existed, and no client can tell the difference.

import { canMount } from '../servers/full-disk.mjs'
import { clientKill, lostReplies, refused } from './cases/connections.mjs'
import { corruptValue } from './cases/corrupt-value.mjs'
import { lateStart, sigkill } from './cases/crash.mjs'
import { cutReplies } from './cases/cut-replies.mjs'
import { objectsFrozen, objectsKilled, objectsLost, objectsRefused } from './cases/durable-object.mjs'
import { clusterFailover, promotion } from './cases/failover.mjs'
import { clientPause, sigstop } from './cases/frozen.mjs'
import { latency } from './cases/latency.mjs'
import { longOutage } from './cases/long-outage.mjs'
import { lostRecords } from './cases/lost-records.mjs'
import { manyPolicies } from './cases/many-policies.mjs'
import {
  memcachedFlush,
  memcachedFrozen,
  memcachedKilled,
  memcachedLost,
  memcachedOneAway,
  memcachedRefused,
  memcachedSlow,
} from './cases/memcached.mjs'
import {
  mysqlKill,
  mysqlLateStart,
  mysqlLock,
  mysqlLostReplies,
  mysqlReadonly,
  mysqlSigkill,
  mysqlSigstop,
} from './cases/mysql.mjs'
import {
  functionsDropped,
  inFunctions,
  postgresCrash,
  postgresFrozen,
  postgresLateStart,
  postgresLostReplies,
  postgresReadOnly,
  postgresRefused,
  postgresTerminated,
  postgresUnlogged,
} from './cases/postgres.mjs'
import { busy, loading, masterdown, noPermission, noreplicas, oom, readonly } from './cases/refusals.mjs'
import { resharding } from './cases/resharding.mjs'
import { scriptFlush } from './cases/script-flush.mjs'
import { sqliteFull, sqliteKilled, sqliteLocked } from './cases/sqlite.mjs'
import { restLost, restRefused } from './cases/upstash.mjs'
import { flushall, laggingReplica, olderSnapshot, restart, sentinelFailover } from './record-losses.mjs'
import { runFault } from './run-fault.mjs'

/** @import { Fault, OnStep, Outcome } from './run-fault.mjs' */

/** @typedef {{ name: string, what: string, run(onStep?: OnStep): Promise<Outcome[]> }} Run */

/** @type {readonly Run[]} */
export const EVERY_FAULT = [
  ...[scriptFlush, sigkill, sigstop(5000), promotion, clusterFailover, resharding].map(asRun),
  ...[readonly, masterdown, loading, busy, oom, noreplicas, noPermission, corruptValue].map(asRun),
  ...[clientKill, clientPause, lostReplies].map(asRun),
  cutReplies,
  manyPolicies,
  ...[latency(20, 10, 200), latency(80, 40, 200), latency(200, 80, 200), lateStart, refused, longOutage].map(asRun),
  ...[restLost, restRefused].map(asRun),
  ...[sqliteLocked, sqliteKilled, ...(canMount() ? [sqliteFull] : [])].map(asRun),
  ...[postgresCrash, postgresUnlogged, postgresLateStart, postgresFrozen].map(asRun),
  ...[postgresTerminated, postgresReadOnly, postgresLostReplies, postgresRefused].map(asRun),
  ...[postgresCrash, postgresUnlogged, postgresFrozen, postgresTerminated, postgresReadOnly].map(inFunctions).map(asRun),
  ...[inFunctions(postgresLateStart), inFunctions(postgresLostReplies), inFunctions(postgresRefused), functionsDropped].map(
    asRun,
  ),
  ...[mysqlSigkill, mysqlSigstop(6000), mysqlKill, mysqlLostReplies, mysqlLock, mysqlReadonly, mysqlLateStart].map(asRun),
  ...[memcachedKilled, memcachedFrozen(5000), memcachedLost, memcachedRefused, memcachedFlush, memcachedOneAway].map(asRun),
  asRun(memcachedSlow),
  ...[objectsKilled, objectsFrozen(5000), objectsLost, objectsRefused].map(asRun),
  ...[flushall, restart, olderSnapshot, laggingReplica, sentinelFailover].map(lostRecords),
]

/** Short and important faults that run with the tests. */
export const QUICK_FAULTS = [
  ...[scriptFlush, sigkill, sigstop(1000), lostReplies, restLost, readonly, oom, corruptValue, lateStart].map(asRun),
  ...[sqliteLocked, sqliteKilled].map(asRun),
  ...[postgresCrash, postgresLostReplies, inFunctions(postgresLostReplies)].map(asRun),
  ...[mysqlSigkill, mysqlLostReplies, mysqlReadonly].map(asRun),
  ...[memcachedKilled, memcachedFrozen(1000), memcachedLost, memcachedOneAway].map(asRun),
  asRun(objectsKilled),
  cutReplies,
]

/**
 * @param {Fault<any>} fault
 * @returns {Run}
 */
function asRun(fault) {
  return { name: fault.name, what: fault.what, run: (onStep) => runFault(fault, onStep) }
}
