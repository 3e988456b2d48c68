// The faults. Each is done to real processes and returns when it is over; recovery is waited for afterwards.

import { setTimeout as pause } from 'node:timers/promises'

/** @import { Soak } from './soak-context.mjs' */
/** @import { StruckKeys } from './struck-keys.mjs' */
/** @import { Records } from './records.mjs' */
/** @import { FaultName, Planned } from './schedule.mjs' */

/**
 * @typedef {object} Scene
 * @property {Soak} soak
 * @property {StruckKeys} struck
 * @property {Records} records
 */

/**
 * @typedef {object} Fault
 * @property {string} what
 * @property {number} standIns processes that may answer without the store
 * @property {number} forgets how often the store loses its counts
 * @property {(scene: Scene, planned: Planned) => Promise<void>} strike
 */

/** @type {Readonly<Record<FaultName, Fault>>} */
export const FAULTS = {
  'redis-stopped': {
    what: 'Redis stands still (SIGSTOP) and goes on',
    standIns: 2,
    forgets: 0,
    async strike({ soak: { fleet } }, { lengthMs }) {
      fleet.redis.signal('SIGSTOP')
      await pause(lengthMs)
      fleet.redis.signal('SIGCONT')
    },
  },
  'redis-killed': {
    what: 'Redis is killed and starts again from its append-only file',
    standIns: 2,
    forgets: 0,
    async strike({ soak: { fleet } }, { lengthMs }) {
      await fleet.redis.kill()
      await pause(lengthMs)
      await fleet.redis.start()
    },
  },
  'redis-emptied': {
    what: 'Redis is emptied (FLUSHALL); then `sluice records restore`',
    standIns: 0,
    forgets: 1,
    async strike({ soak, struck, records }, { lengthMs, target }) {
      const { fleet, weather } = soak
      struck.forget()
      await fleet.redis.cli('FLUSHALL')
      await pause(lengthMs)
      await records.rollCall('while Redis is empty', { isCutOff: true })
      const wanted = fleet.instance(target)
      const others = fleet.instances.filter((instance) => instance !== wanted)
      const said = []
      // An instance that had not seen the last change yet refuses and names the one that has.
      for (const instance of [wanted, ...others]) {
        const { code, stdout, stderr } = await fleet.sluice(instance, 'records', 'restore')
        if (code === 0) return
        said.push(`on ${instance.name} with ${code}: ${`${stdout}${stderr}`.trim()}`)
      }
      weather.complain('change', `sluice records restore ended ${said.join(', ')}`)
    },
  },
  'instance-killed': {
    what: 'an instance is killed under load and starts again',
    standIns: 0,
    forgets: 0,
    async strike({ soak: { fleet } }, { lengthMs, target }) {
      const instance = fleet.instance(target)
      await instance.kill()
      await pause(lengthMs)
      await instance.start()
    },
  },
  'instance-drained': {
    what: 'an instance is stopped (SIGTERM) under load and starts again: no request is lost',
    standIns: 0,
    forgets: 0,
    async strike({ soak: { fleet, weather } }, { lengthMs, target }) {
      const instance = fleet.instance(target)
      const code = await instance.drain()
      if (code !== 0) weather.complain('answer', `instance ${target} ended with ${code} after SIGTERM`)
      await pause(lengthMs)
      await instance.start()
    },
  },
}
