// Slots move from node to node of a cluster, under load. A live move loses nothing.

import { setTimeout as pause } from 'node:timers/promises'
import { Resharding } from '../../servers/resharding.mjs'
import { cluster } from '../environments.mjs'
import { KEYS } from '../target.mjs'

/** @import { Fault, Environment } from '../run-fault.mjs' */

const FOR_MS = 2000

/** @type {Fault<Awaited<ReturnType<typeof cluster>> & Pick<Environment, 'lost'>>} */
export const resharding = {
  name: 'resharding',
  what: 'the slots of all keys move from node to node of a cluster',
  targets: [
    { client: 'ioredis', then: 'local' },
    { client: 'node-redis', then: 'local' },
    { client: 'ioredis', then: 'throw', processes: 2 },
  ],
  startEnvironment: cluster,
  async inject(environment) {
    const { primaries, replicas } = environment
    environment.lost = () => 0
    for (const replica of replicas) await replica.cli('CONFIG', 'SET', 'cluster-replica-no-failover', 'yes')
    const slots = await Promise.all(
      KEYS.map(async ({ name }) => Number(await primaries[0].cli('CLUSTER', 'KEYSLOT', `{${name}}`))),
    )
    const moves = await Resharding.of(primaries)
    const endMs = performance.now() + FOR_MS
    let rounds = 0
    try {
      while (performance.now() < endMs) {
        for (const slot of slots) {
          const home = primaries.indexOf(await moves.ownerOf(slot))
          await moves.move(slot, primaries[(home + 1) % primaries.length], () => pause(5))
        }
        rounds += 1
      }
    } finally {
      moves.close()
    }
    return rounds < 4 ? [`the slots moved only ${rounds} times`] : []
  },
  expects: { fatal: 'none', unknown: 'none' },
}
