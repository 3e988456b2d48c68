// The words for a simulation of the last hour's traffic: who would feel it, and what the sample lacks.

import type { PolicySpec, Simulation } from '../../api/answers.ts'
import type { ApiError } from '../../api/call.ts'
import { fullCount, howMany } from '../../words/count-text.ts'
import { clockTime } from '../../words/time-text.ts'

/** The name of a policy that has none yet. */
export const UNNAMED = 'unnamed-policy'

/** Returns the policy to simulate. One in shadow mode denies nothing, so it is shown as if it were enforced. */
export function proposedOf(spec: PolicySpec): PolicySpec {
  return { ...spec, name: spec.name || UNNAMED, mode: spec.mode === 'shadow' ? 'enforce' : spec.mode }
}

/** The path of the policy in the request, which its problems begin with. */
const AT = 'policies[0].'

/** Returns the reasons why the service cannot simulate the policy. */
export function refusalText({ problems, message }: Pick<ApiError, 'problems' | 'message'>): string {
  return problems.length === 0 ? message : problems.map((problem) => problem.message.replace(AT, '')).join('; ')
}

/** Says in one sentence whom a change would hit. */
export function changeText({ change, requests }: Pick<Simulation, 'change' | 'requests'>): string {
  if (requests === 0) return 'No check was decided in the last hour, so nobody can say whom this would hit.'
  const { newly_denied, newly_allowed, clients_newly_denied, clients_newly_allowed } = change
  if (newly_denied + newly_allowed === 0) return `All ${howMany(requests, 'check')} would be answered as they are now.`
  const denied = `${howMany(newly_denied, 'check')} of ${howMany(clients_newly_denied, 'client')} would be newly denied`
  const allowed = `${howMany(newly_allowed, 'check')} of ${howMany(clients_newly_allowed, 'client')}`
  if (newly_allowed === 0) return `${denied}.`
  return newly_denied === 0 ? `${allowed} would be newly allowed.` : `${denied}, and ${allowed} newly allowed.`
}

/** Says what was replayed, and what is missing. */
export function sampleText({ sample, requests, clients }: Pick<Simulation, 'sample' | 'requests' | 'clients'>): string[] {
  const { share, missed, decided, since, instance, instances_up } = sample
  const replayed = `${howMany(requests, 'check')} of ${howMany(clients, 'client')} under all policies, since ${clockTime(since)}`
  return [
    share === 1
      ? `${replayed}.`
      : `A sample: ${replayed}, of ${fullCount(decided)} that were decided. It has one in ${Math.round(1 / share)} clients.`,
    ...(missed > 0 ? [`${howMany(missed, 'check')} of very busy clients did not fit.`] : []),
    ...(instances_up > 1
      ? [`${instances_up} instances are up, and each keeps the checks that it decides: these are those of ${instance}.`]
      : []),
    'Counters start empty, and clients are pictured as if they did not react.',
  ]
}
