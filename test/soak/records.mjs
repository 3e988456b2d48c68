// Acknowledged changes of policies and keys. Each must be in force on both instances within a second, and stay.

import { KeyRotation } from './key-rotation.mjs'
import { EVERY_POLICY, LAYERS } from './policies.mjs'
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
    const plain = EVERY_POLICY.map(({ name, rule }) => ({ name, policy: { client: `${name}-*`, rules: [rule] } }))
    for (const { name, policy } of [...plain, ...LAYERS]) {
      const { answer } = await this.soak.ask(fleet.instances[0].asker, 'PUT', `/v1/policies/${name}`, policy)
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
