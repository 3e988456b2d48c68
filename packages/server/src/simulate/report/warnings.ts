// Facts about a simulation that may make its numbers misleading, as sentences.

import { grouped, lengthOf, numberOf } from './numbers.ts'
import type { SimulationReport } from './report.ts'

export function warningsOf(report: SimulationReport): string[] {
  const { log, late, evictions, undecided, other_clients: others, clients } = report
  const warnings: string[] = []
  const say = (amount: number, sentence: string): void => {
    if (amount > 0) warnings.push(sentence)
  }
  if (log !== null) {
    const examples = log.problems.map(({ file, line, problem }) => `\n  ${file}:${line}: ${problem}`).join('')
    say(log.unreadable, `${numberOf(log.unreadable, 'line')} could not be read. The first:${examples}`)
    say(log.too_long, `${numberOf(log.too_long, 'line')} longer than 64 KiB skipped.`)
    say(log.outside, `${numberOf(log.outside, 'request')} outside the time of --since and --until left out.`)
    for (const { file, reason } of log.cut_off) warnings.push(`${file} is damaged and was read up to there: ${reason}.`)
  }
  say(
    late.requests,
    `${numberOf(late.requests, 'request')} earlier than the one before, by up to ${late.most_ms < 1000 ? `${late.most_ms} ms` : lengthOf(late.most_ms / 1000)}. They are decided at the later time. Give files in the order of their times, or use --reorder.`,
  )
  say(
    undecided,
    `${numberOf(undecided, 'request')} not decided: the policy has a concurrency rule, and a log has no end of a request, or too many policies apply.`,
  )
  say(
    evictions,
    `${numberOf(evictions, 'counter')} evicted because there were too many at once, so some decisions are too generous. Raise --max-keys.`,
  )
  say(
    others.requests,
    `only the first ${numberOf(clients, 'client')} have counts of their own. The other clients have ${numberOf(others.requests, 'request')}, ${grouped(others.denied)} of them denied. Raise --max-clients.`,
  )
  return warnings
}
