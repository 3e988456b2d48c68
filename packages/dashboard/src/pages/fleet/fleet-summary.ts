// One sentence on the fleet: who is up, and what somebody should look at.
// Invariant: if several things are wrong, the sentence names the worst.

import type { Fleet, Instance, Status } from '../../api/answers.ts'
import type { Summary } from '../../controls/summary.ts'
import { howMany } from '../../words/count-text.ts'

export function isUp({ state }: Instance): boolean {
  return state !== 'gone' && state !== 'stopped'
}

/** Versions of the instances that are up, each once. */
export function versionsOf({ instances }: Pick<Fleet, 'instances'>): string[] {
  return [...new Set(instances.filter(isUp).map(({ version }) => version))].sort()
}

/** Checks a second of the instances that are up. */
export function rateOf({ instances }: Pick<Fleet, 'instances'>): number {
  return instances.filter(isUp).reduce((sum, { per_second }) => sum + per_second, 0)
}

/** `kind` is the kind of the store of the answering instance. */
export function fleetSummary(fleet: Fleet, kind: Status['store']['kind']): Summary {
  const { instances, problem, unreadable, up } = fleet
  if (problem !== null) {
    return { tone: 'bad', title: 'Other instances are not known now', text: `Figures are of this instance alone: ${problem}` }
  }
  const gone = instances.filter(({ state }) => state === 'gone').length
  if (gone > 0) {
    const text = 'It has missed three reports, and counts in no sum. It is forgotten after ten minutes.'
    const many = 'They have missed three reports, and count in no sum. They are forgotten after ten minutes.'
    return {
      tone: 'bad',
      title: `${howMany(gone, 'instance')} ${gone === 1 ? 'is' : 'are'} gone`,
      text: gone === 1 ? text : many,
    }
  }
  if (unreadable > 0) {
    const title = `${howMany(unreadable, 'instance')} cannot be read`
    return { tone: 'warn', title, text: 'The reports have the form of another version. Their checks are in no sum.' }
  }
  const versions = versionsOf(fleet)
  if (versions.length > 1) {
    return { tone: 'warn', title: `${versions.length} versions run`, text: `An update is under way: ${versions.join(', ')}.` }
  }
  if (up > 1) return { tone: 'good', title: `${howMany(up, 'instance')} are up`, text: `All of them run ${versions.join()}.` }
  const together = 'Instances that share a Redis, a PostgreSQL or a SQLite file are shown here together.'
  const alone = kind === 'memory' ? 'Its store is its own memory, so there is no other.' : 'No other instance uses its store.'
  return { tone: 'good', title: 'One instance is up', text: `${alone} ${together}` }
}
