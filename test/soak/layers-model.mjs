// A model of one decision over several layers: if one denies, none is charged. Each layer has the model of its rule.

import { couldAllow, couldDeny, holdRemain } from './models.mjs'

/** @import { Decided } from './endpoints.mjs' */
/** @import { Model, Span } from './models.mjs' */

/**
 * Compares the answer to a check with the models of its layers, by the names of their policies, and applies it to them. Returns
 * a complaint, or undefined. The caller has advanced all models to the time of the call.
 * @param {ReadonlyMap<string, Model>} layers
 * @param {number} cost
 * @param {Span} span
 * @param {Decided} answer
 */
export function judgeLayers(layers, cost, span, { allowed, limit, remain, policy = '' }) {
  const speaker = layers.get(policy)
  if (speaker === undefined) return `the answer names the policy ${JSON.stringify(policy)}`
  if (limit !== speaker.limit) return `the limit of ${policy} is reported as ${limit}, not ${speaker.limit}`
  return allowed ? judgeAllowed(layers, cost, span, { speaker, remain }) : judgeDenied(speaker, cost, { policy, remain })
}

/**
 * @param {ReadonlyMap<string, Model>} layers
 * @param {number} cost
 * @param {Span} span
 * @param {{ speaker: Model, remain: number }} answer
 */
function judgeAllowed(layers, cost, span, { speaker, remain }) {
  for (const [name, model] of layers) {
    if (!couldAllow(model, cost)) return `${cost} allowed with at least ${model.low} of ${model.limit} used in ${name}`
  }
  for (const [name, model] of layers) {
    model.high = Math.min(model.high, model.limit - cost)
    model.spend(cost, span)
    // The policy with the fewest units left speaks.
    if (Math.floor(model.limit - model.low + 1e-6) < remain) return `${remain} are said to be left, but fewer are in ${name}`
  }
  return holdRemain(speaker, remain)
}

/**
 * @param {Model} speaker
 * @param {number} cost
 * @param {{ policy: string, remain: number }} answer
 */
function judgeDenied(speaker, cost, { policy, remain }) {
  if (!couldDeny(speaker, cost)) return `${cost} denied by ${policy} with at most ${speaker.high} of ${speaker.limit} used`
  speaker.low = Math.max(speaker.low, speaker.limit - cost)
  return holdRemain(speaker, remain)
}
