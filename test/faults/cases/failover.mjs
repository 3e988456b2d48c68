// A replica takes over. Units that were granted but not yet replicated when the primary died are lost.

import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../servers/redis-server.mjs'
import { mostLost } from '../bounds.mjs'
import { cluster, primaryAndReplica } from '../environments.mjs'
import { unitsCounted } from '../run-fault.mjs'
import { KEYS } from '../target.mjs'

/** @import { Fault, Environment } from '../run-fault.mjs' */
/** @import { Target } from '../target.mjs' */
/** @import { RedisServer } from '../../servers/redis-server.mjs' */

/** @type {Fault<Awaited<ReturnType<typeof primaryAndReplica>> & Pick<Environment, 'lost'>>} */
export const promotion = {
  name: 'promotion',
  what: 'the link to the replica goes silent, the primary dies, the replica is promoted',
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  warmUpMs: 300,
  startEnvironment: primaryAndReplica,
  async inject(environment, targets) {
    const { primary, replica, link, proxy } = environment
    link.conditions = { loseDown: true }
    await pause(250)
    await primary.kill()
    await pause(50)
    const lost = await lostUnits(environment, targets)
    await replica.cli('REPLICAOF', 'NO', 'ONE')
    proxy.targetPort = replica.port
    environment.lost = (target, key) => lost.get(target)?.[key] ?? 0
    const total = [...lost.values()].flat().reduce((sum, units) => sum + units, 0)
    return total === 0 ? ['nothing was lost: this was not the fault that it should be'] : []
  },
  // The fault may end before the first deadline.
  expects: { fatal: 'none' },
}

/**
 * Units that were granted and are unknown to the replica. Called while no client can reach either server.
 * @param {Pick<Environment, 'openObserver'>} environment
 * @param {readonly Target[]} targets
 * @returns {Promise<Map<Target, number[]>>}
 */
async function lostUnits(environment, targets) {
  const lost = new Map()
  for (const target of targets) {
    const known = await unitsCounted(environment, target)
    const granted = KEYS.map((_, key) => target.countsOf(key).store.allowed)
    lost.set(
      target,
      granted.map((units, key) => Math.max(0, units - known[key])),
    )
  }
  return lost
}

/** @type {Fault<Awaited<ReturnType<typeof cluster>> & Pick<Environment, 'lost'>>} */
export const clusterFailover = {
  name: 'cluster-failover',
  what: 'a primary of a cluster dies, its replica takes over',
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  startEnvironment: cluster,
  async inject(environment, targets) {
    const { primaries, replicas } = environment
    const owners = await Promise.all(KEYS.map(({ name }) => ownerOf(`{${name}}`, primaries)))
    const victim = owners[KEYS.findIndex(({ name }) => name === 'warm')]
    environment.lost = (_, key) => (owners[key] === victim ? mostLost(KEYS[key].limit, 1) : 0)
    await primaries[victim].kill()
    await until('the replica to take over', async () => (await replicas[victim].cli('ROLE')).startsWith('master'))
    const others = primaries.filter((_, i) => i !== victim)
    await until('the cluster to be whole again', async () => {
      const infos = await Promise.all([...others, replicas[victim]].map((node) => node.cli('CLUSTER', 'INFO')))
      return infos.every((info) => info.includes('cluster_state:ok'))
    })
    return targets.flatMap((target) => {
      const spared = KEYS.filter((_, key) => owners[key] !== victim && target.countsOf(key).unanswered > 0)
      return spared.map(({ name }) => `${target.name}: hits on ${name} failed, whose node was there`)
    })
  },
  expects: { fatal: 'none' },
}

/**
 * @param {string} key
 * @param {readonly RedisServer[]} primaries
 */
async function ownerOf(key, primaries) {
  const slot = Number(await primaries[0].cli('CLUSTER', 'KEYSLOT', key))
  return Math.floor((slot * primaries.length) / 16_384)
}
