// sluice policies shadow: what a policy in shadow mode would have denied.

import { Command } from 'commander'
import type { ShadowReport } from 'sluice-client/node'
import { wholeNumber } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { count, countOf, table } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

const DEFAULT_LIMIT = 20
const MOST = 500

export function shadowCommand(terminal: Terminal): Command {
  const command = new Command('shadow')
    .summary('see what a policy in shadow mode would have denied')
    .description(
      'Shows what a policy in shadow mode would have denied since it began: how often, by which rule, and to which clients. Sums of all instances that are up.',
    )
    .argument('<name>', 'the name of the policy')
    .option('--limit <clients>', 'clients at most', wholeNumber(1, MOST), DEFAULT_LIMIT)
    .addHelpText('after', '\nExamples:\n  $ sluice policies shadow orders\n  $ sluice policies set orders --mode enforce')
  asksService(command, terminal.env)
  return command.action(async (name: string, options: ConnectionOptions & { readonly limit: number }) => {
    const { limit } = options
    const report = await withClient(options, terminal, (client) => client.policies.shadow(name, { limit }))
    if (options.json) printJson(terminal.stdout, report)
    else print(terminal.stdout, reportText(report))
  })
}

function reportText(report: ShadowReport): string {
  const { policy, since, checks, denied, rules, clients, instances, uncountedInstances, problem } = report
  const counted =
    since === undefined
      ? `${policy} has decided no check yet.`
      : `${policy} has decided ${countOf(checks, 'check')} since ${since.toISOString()}, and would have denied ${count(denied)}.`
  const parts = [
    counted,
    rules.length > 0 && table([['rule', 'would have denied'], ...rules.map((rule) => [rule.name, rule.denied])]),
    clients.length > 0 && clientTable(report),
    instances.length > 1 && instanceTable(report),
    uncountedInstances > 0 && `${countOf(uncountedInstances, 'more instance')} cannot tell.`,
    problem !== undefined && `Counts of this instance only: ${problem}`,
  ]
  return parts.filter((part) => part !== false).join('\n\n')
}

function clientTable({ clients, unlistedAtMost }: ShadowReport): string {
  const rows = clients.map(({ clientId, denied, error }) => [
    clientId,
    denied,
    error === 0 ? '' : `at most ${count(error)} fewer`,
  ])
  const list = table([['client', 'would have denied', ''], ...rows])
  return unlistedAtMost === 0 ? list : `${list}\nAny other client: at most ${count(unlistedAtMost)}.`
}

function instanceTable({ instances }: ShadowReport): string {
  const rows = instances.map(({ id, since, checks, denied }) => [id, since?.toISOString() ?? '', checks, denied])
  return table([['instance', 'since', 'checks', 'would have denied'], ...rows])
}
