// Organisations whose clients send requests with attributes, one call after the other, through either instance. Three policies decide
// together about each request. Each answer is compared with the models of their rules, to the unit.

import { setTimeout as pause } from 'node:timers/promises'
import { batch, single } from './endpoints.mjs'
import { judgeLayers } from './layers-model.mjs'
import { LAYERED_CLIENTS, LAYERS } from './policies.mjs'

/** @import { Random } from '../../packages/sluice/dist/testing/random.js' */
/** @import { Model } from './models.mjs' */
/** @import { Soak } from './soak-context.mjs' */

const MOST_STEPS = 200
const LONGEST_PAUSE_MS = 40
const CLIENTS = 3
const PLANS = ['free', 'pro']

/**
 * Runs walks until the soak is over, with a new organisation every few seconds.
 * @param {Soak} soak
 * @param {Random} random
 */
export async function walkInLayers(soak, random) {
  while (!soak.isOver) {
    await walkOrganisation(soak, random, `org-${soak.nextNumber()}`)
    await pause(random.whole(0, LONGEST_PAUSE_MS))
  }
}

/**
 * @param {Soak} soak
 * @param {Random} random
 * @param {string} org
 */
async function walkOrganisation(soak, random, org) {
  const { phases } = soak
  const mark = phases.mark()
  const [ofOrg, ofPlan, ofClient] = LAYERS
  const orgModel = ofOrg.makeModel()
  const planModel = ofPlan.makeModel()
  const clientModels = Array.from({ length: CLIENTS }, () => ofClient.makeModel())
  for (let step = 0; step < MOST_STEPS && !soak.isOver; step++) {
    const i = random.whole(0, CLIENTS - 1)
    const plan = random.pick(PLANS)
    const endpoint = random.pick([single, single, batch])
    const costs = Array.from({ length: random.whole(1, endpoint.most) }, () => random.pick([1, 1, 1, 2, 5]))
    const client = `${LAYERED_CLIENTS}${org}-${i}`
    const check = { client, route: `/layers/${random.whole(1, 50)}`, costs, attributes: { org, plan } }
    const { answer, decided } = await soak.decide(random, endpoint, check)
    // After a fault a new organisation begins. Its answers can be judged again in the next calm.
    if (decided === undefined || !phases.isSameCalm(mark)) return
    /** @type {Map<string, Model>} */
    const layers = new Map([
      [ofOrg.name, orgModel],
      ...(plan === 'free' ? /** @type {const} */ ([[ofPlan.name, planModel]]) : []),
      [ofClient.name, clientModels[i]],
    ])
    for (const [nth, cost] of costs.entries()) {
      // The store may send the checks of one request as several commands (`leastOverlapped`), each with its own time.
      for (const model of layers.values()) if (!model.advance(answer)) return
      const complaint = judgeLayers(layers, cost, answer, decided[nth])
      if (complaint === undefined) continue
      return phases.complainOfCalm('answer', `${client} (${plan}), ${endpoint.name} on ${answer.asker.name}: ${complaint}`)
    }
    await pause(random.whole(0, LONGEST_PAUSE_MS))
  }
}
