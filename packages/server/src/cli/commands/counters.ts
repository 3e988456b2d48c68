// sluice usage, sluice reset: reads and resets what was counted.

import { Command } from 'commander'
import type { Attributes } from 'sluice-client/node'
import { attribute, wholeNumber } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { count, table, wait } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

interface AttributeOptions extends ConnectionOptions {
  readonly attribute?: Attributes
}

interface UsageOptions extends AttributeOptions {
  readonly cost: number
}

export function usageCommand(terminal: Terminal): Command {
  const command = new Command('usage')
    .summary('see what a client has used')
    .description('Shows what a client has used of each rule. Spends nothing.')
    .argument('<client_id>', 'the client')
    .argument('<route>', 'the route')
    .option('--attribute <name=value>', 'a fact about the request, such as plan=free; repeat it for several', attribute)
    .option('--cost <units>', 'the cost to ask about', wholeNumber(1), 1)
    .addHelpText('after', '\nExamples:\n  $ sluice usage acme /v1/orders\n  $ sluice usage acme /v1/orders --json')
  asksService(command, terminal.env)
  return command.action(async (clientId: string, route: string, options: UsageOptions) => {
    const usage = await withClient(options, terminal, (client) =>
      client.usage({ clientId, route, attributes: options.attribute, cost: options.cost }),
    )
    if (options.json) return printJson(terminal.stdout, usage)
    const mode = usage.mode === 'enforce' ? '' : ` (${usage.mode})`
    const head = `${usage.allowed ? 'Allow' : 'Deny '}  policy ${usage.policy}${mode}`
    if (usage.storeFallback === 'allow' || usage.storeFallback === 'deny') {
      // The numbers of the rules describe no client.
      return print(terminal.stdout, `${head}: the store does not answer, and nothing is counted`)
    }
    const origin = usage.storeFallback === 'local' ? ': the store does not answer, these are the counters of one instance' : ''
    const rows = usage.rules.map(({ name, limit, used, remaining, retryAfterMs, resetAfterMs }) => {
      return [name, used, remaining, limit, retryAfterMs === 0 ? 'now' : wait(retryAfterMs), wait(resetAfterMs)]
    })
    const heading = ['rule', 'used', 'left', 'limit', 'passes in', 'all free in']
    const { open } = usage.holds
    const holds = open === 0 ? '' : `\n${count(open)} open ${open === 1 ? 'hold' : 'holds'}, as the answering instance knows them`
    print(terminal.stdout, `${head}${origin}\n${table([heading, ...rows])}${holds}`)
  })
}

export function resetCommand(terminal: Terminal): Command {
  const command = new Command('reset')
    .summary('reset what a client has used')
    .description('Resets what a client has used, as if it had never been seen. Needs a key with the scope admin.')
    .argument('<client_id>', 'the client')
    .argument('<route>', 'the route')
    .option('--attribute <name=value>', 'a fact about the request, such as plan=free; repeat it for several', attribute)
    .addHelpText('after', '\nExamples:\n  $ sluice reset acme /v1/orders')
  asksService(command, terminal.env)
  return command.action(async (clientId: string, route: string, options: AttributeOptions) => {
    const request = { clientId, route, attributes: options.attribute }
    const counted = await withClient(options, terminal, (client) => client.reset(request))
    if (options.json) printJson(terminal.stdout, counted)
    else print(terminal.stdout, `${clientId} has used nothing of ${route} (policy ${counted.policy})`)
  })
}
