// Acknowledged changes of policies and keys. Each must be in force on both instances within a second, and stay.

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

  /** Creates the policies of the traffic. */
  async makePolicies() {
    const { fleet } = this.soak
    for (const { name, rule } of EVERY_POLICY) {
      const path = `/v1/policies/${name}`
      const { answer } = await this.soak.ask(fleet.instances[0].asker, 'PUT', path, { client: `${name}-*`, rules: [rule] })
      if (answer.status !== 201) throw new Error(`policy ${name} could not be made: ${JSON.stringify(answer.body)}`)
    }
  }

  /**
   * Compares everything that was acknowledged with both instances. While `isCutOff`, instances cannot see each other's changes,
   * so only changes count that had reached both before.
   * @param {string} when
   * @param {{ isCutOff?: boolean }} [options]
   */
  async verify(when, { isCutOff = false } = {}) {
    await this.policies.verify(when, isCutOff)
    await this.keys.verify(when, isCutOff)
  }
}
