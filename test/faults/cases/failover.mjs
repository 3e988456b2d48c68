// A replica takes over. What it had not heard of when the primary died is lost, although it had been answered.

import { setTimeout as pause } from 'node:timers/promises'
import { until } from '../../servers/redis-server.mjs'
import { mostLost } from '../bounds.mjs'
import { unitsCounted } from '../run-fault.mjs'
import { cluster, primaryAndReplica } from '../scenes.mjs'
import { KEYS } from '../subject.mjs'

/** @import { Fault, Scene } from '../run-fault.mjs' */
/** @import { Subject } from '../subject.mjs' */
/** @import { RedisServer } from '../../servers/redis-server.mjs' */

/** @type {Fault<Awaited<ReturnType<typeof primaryAndReplica>> & Pick<Scene, 'lost'>>} */
export const promotion = {
  name: 'promotion',
  what: 'the link to the replica goes silent, the primary dies, the replica is promoted',
  subjects: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  warmUpMs: 300,
  setTheScene: primaryAndReplica,
  async strike(scene, subjects) {
    const { primary, replica, link, proxy } = scene
    link.weather = { loseDown: true }
    await pause(250)
    await primary.kill()
    await pause(50)
    const lost = await lostUnits(scene, subjects)
    await replica.cli('REPLICAOF', 'NO', 'ONE')
    proxy.targetPort = replica.port
    scene.lost = (subject, key) => lost.get(subject)?.[key] ?? 0
    const total = [...lost.values()].flat().reduce((sum, units) => sum + units, 0)
    return total === 0 ? ['nothing was lost: this was not the fault that it should be'] : []
  },
  // It may be over before a single deadline is.
  expects: { fatal: 'none' },
}

/**
 * What had been granted and the replica does not know of, while nobody can reach either.
 * @param {Pick<Scene, 'look'>} scene
 * @param {readonly Subject[]} subjects
 * @returns {Promise<Map<Subject, number[]>>}
 */
async function lostUnits(scene, subjects) {
  const lost = new Map()
  for (const subject of subjects) {
    const known = await unitsCounted(scene, subject)
    const granted = KEYS.map((_, key) => subject.tally(key).store.allowed)
    lost.set(
      subject,
      granted.map((units, key) => Math.max(0, units - known[key])),
    )
  }
  return lost
}

/** @type {Fault<Awaited<ReturnType<typeof cluster>> & Pick<Scene, 'lost'>>} */
export const clusterFailover = {
  name: 'cluster-failover',
  what: 'a primary of a cluster dies, its replica takes over',
  subjects: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw' },
  ],
  setTheScene: cluster,
  async strike(scene, subjects) {
    const { primaries, replicas } = scene
    const owners = await Promise.all(KEYS.map(({ name }) => ownerOf(`{${name}}`, primaries)))
    const victim = owners[KEYS.findIndex(({ name }) => name === 'warm')]
    scene.lost = (_, key) => (owners[key] === victim ? mostLost(KEYS[key].limit, 1) : 0)
    await primaries[victim].kill()
    await until('the replica to take over', async () => (await replicas[victim].cli('ROLE')).startsWith('master'))
    const others = primaries.filter((_, i) => i !== victim)
    await until('the cluster to be whole again', async () => {
      const infos = await Promise.all([...others, replicas[victim]].map((node) => node.cli('CLUSTER', 'INFO')))
      return infos.every((info) => info.includes('cluster_state:ok'))
    })
    return subjects.flatMap((subject) => {
      const spared = KEYS.filter((_, key) => owners[key] !== victim && subject.tally(key).unanswered > 0)
      return spared.map(({ name }) => `${subject.name}: hits on ${name} failed, whose node was there`)
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
