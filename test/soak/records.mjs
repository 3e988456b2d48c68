// Acknowledged changes, of policies and keys: each has to be in force on both instances within a second, and for ever.

import { KeyRotation } from './key-rotation.mjs'
import { EVERY_POLICY } from './policies.mjs'
import { PolicyChanges } from './policy-changes.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Soak } from './soak-context.mjs' */

export class Records {
  /**
   * @param {Soak} soak
   * @param {(purpose: string) => Random} randomFor
   */
  constructor(soak, randomFor) {
    this.soak = soak
    this.policies = new PolicyChanges(soak, randomFor('policies'))
    this.keys = new KeyRotation(soak, randomFor('keys'))
  }

  /** Makes the policies that the traffic runs under. */
  async makePolicies() {
    const { fleet } = this.soak
    for (const { name, rule } of EVERY_POLICY) {
      const path = `/v1/policies/${name}`
      const { answer } = await this.soak.ask(fleet.instances[0].asker, 'PUT', path, { client: `${name}-*`, rules: [rule] })
      if (answer.status !== 201) throw new Error(`policy ${name} could not be made: ${JSON.stringify(answer.body)}`)
    }
  }

  /**
   * Holds everything that was acknowledged against both instances. While `isCutOff`, instances cannot hear of each other's
   * changes: then only changes count that had reached both before.
   * @param {string} when
   * @param {{ isCutOff?: boolean }} [options]
   */
  async rollCall(when, { isCutOff = false } = {}) {
    await this.policies.rollCall(when, isCutOff)
    await this.keys.rollCall(when, isCutOff)
  }
}
