// The faults. Each acts on real processes and returns when it is over. The caller then waits for the recovery.

import { setTimeout as pause } from 'node:timers/promises'

/** @import { Soak } from './soak-context.mjs' */
/** @import { FaultKeys } from './fault-keys.mjs' */
/** @import { Records } from './records.mjs' */
/** @import { FaultName, Planned } from './schedule.mjs' */

/**
 * @typedef {object} FaultContext
 * @property {Soak} soak
 * @property {FaultKeys} faultKeys
 * @property {Records} records
 */

/**
 * @typedef {object} Fault
 * @property {string} what
 * @property {number} standIns number of processes that may decide without the store
 * @property {number} forgets number of times that the store loses its counts
 * @property {(context: FaultContext, planned: Planned) => Promise<void>} inject
 */

/** @type {Readonly<Record<FaultName, Fault>>} */
export const FAULTS = {
  'store-stopped': {
    what: 'the store stands still (SIGSTOP) and goes on',
    standIns: 2,
    forgets: 0,
    async inject({ soak: { fleet } }, { lengthMs }) {
      fleet.store.signal('SIGSTOP')
      await pause(lengthMs)
      fleet.store.signal('SIGCONT')
    },
  },
  'store-killed': {
    what: 'the store is killed and starts again from its files',
    standIns: 2,
    forgets: 0,
    async inject({ soak: { fleet } }, { lengthMs }) {
      await fleet.store.kill()
      await pause(lengthMs)
      await fleet.store.start()
    },
  },
  'store-emptied': {
    what: 'the store is emptied; then `sluice records restore`',
    standIns: 0,
    forgets: 1,
    async inject({ soak, faultKeys, records }, { lengthMs, target }) {
      const { fleet, phases } = soak
      faultKeys.forget()
      await fleet.store.empty()
      await pause(lengthMs)
      await records.verify('while the store is empty', { isCutOff: true })
      const wanted = fleet.instance(target)
      const others = fleet.instances.filter((instance) => instance !== wanted)
      const said = []
      // An instance that has not seen the last change refuses, and names the instance that has.
      for (const instance of [wanted, ...others]) {
        const { code, stdout, stderr } = await fleet.sluice(instance, 'records', 'restore')
        if (code === 0) return
        said.push(`on ${instance.name} with ${code}: ${`${stdout}${stderr}`.trim()}`)
      }
      phases.complain('change', `sluice records restore ended ${said.join(', ')}`)
    },
  },
  'instance-killed': {
    what: 'an instance is killed under load and starts again',
    standIns: 0,
    forgets: 0,
    async inject({ soak: { fleet } }, { lengthMs, target }) {
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
    async inject({ soak: { fleet, phases } }, { lengthMs, target }) {
      const instance = fleet.instance(target)
      const code = await instance.drain()
      if (code !== 0) phases.complain('answer', `instance ${target} ended with ${code} after SIGTERM`)
      await pause(lengthMs)
      await instance.start()
    },
  },
}
