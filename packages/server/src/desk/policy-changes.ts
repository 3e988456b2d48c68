// Changes of policies: put and delete.

import type { DeletedPolicy, PolicyKeeper, PutPolicy } from '../policies/policy-keeper.ts'
import type { Caller } from './caller.ts'
import type { ChangeDesk } from './change-desk.ts'

/** Throws if the policy is not the one that the caller expects. Called before each attempt. */
export type Precondition = () => void

const NONE: Precondition = () => {}

export class PolicyChanges {
  readonly #desk: ChangeDesk
  readonly #policies: PolicyKeeper

  constructor(desk: ChangeDesk, policies: PolicyKeeper) {
    this.#desk = desk
    this.#policies = policies
  }

  /** Adds or replaces a policy. Resolves when it is durable, and in force unless the configuration file has another one. */
  put(caller: Caller, spec: unknown, precondition = NONE): Promise<PutPolicy> {
    return this.#desk.change(caller, () => {
      precondition()
      const planned = this.#policies.planPut(spec)
      const { before, after } = planned.result
      return { planned, trace: { action: 'policy.put', target: after.name, before: before?.spec, after: after.spec } }
    })
  }

  /** Deletes a policy. Resolves when the change is durable. Deleting `default` restores the built-in policy, which is then `after`. */
  delete(caller: Caller, name: string, precondition = NONE): Promise<DeletedPolicy> {
    return this.#desk.change(caller, () => {
      precondition()
      const planned = this.#policies.planDelete(name)
      const { before, after } = planned.result
      return { planned, trace: { action: 'policy.delete', target: name, before: before.spec, after: after?.spec } }
    })
  }
}
