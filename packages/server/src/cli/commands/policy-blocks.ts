// sluice policies block, unblock: denies everything to a client, and ends that.
// A block is a policy that always applies and denies. Its name is made of the client, so that one client has one block.

import { Command } from 'commander'
import { blockName } from 'sluice-client/contract'
import { ClientError, type PolicySpec } from 'sluice-client/node'
import { timeFrom } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { UsageError } from '../exit-codes.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

interface BlockOptions extends ConnectionOptions {
  readonly until?: Date
  readonly reason?: string
  readonly showReason?: boolean
}

export function blockCommand(terminal: Terminal): Command {
  const command = new Command('block')
    .summary('deny everything to a client')
    .description(
      'Denies everything to a client, whatever other policies say. A second block of a client replaces the first. Needs a key with the scope admin.',
    )
    .argument('<client>', 'the client: one client, or a prefix followed by *')
    .option(
      '--until <time>',
      "when the block ends: a time, or a duration from now such as '12h'; without it, by unblock",
      timeFrom(Date.now),
    )
    .option('--reason <text>', 'the reason for the block')
    .option('--show-reason', 'show the reason to the client')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice policies block mallory
  $ sluice policies block mallory --until 12h --reason 'floods the search' --show-reason
  $ sluice policies block mallory --until 2027-01-31T08:00:00Z`,
    )
  asksService(command, terminal.env)
  return command.action(async (client: string, options: BlockOptions) => {
    const { until, reason, showReason } = options
    if (client === '*')
      throw new UsageError('block names clients: to deny everything to all of them, set the mode of a policy to deny')
    const spec: PolicySpec = {
      name: await blockName(client),
      client,
      applies: 'always',
      mode: 'deny',
      ...(until && { expires_at: until.toISOString() }),
      ...(reason && { reason }),
      ...(showReason && { show_reason: true }),
    }
    const policy = await withClient(options, terminal, (service) => service.policies.put(spec))
    if (options.json) return printJson(terminal.stdout, policy)
    const end = until === undefined ? 'until it is unblocked' : `until ${until.toISOString()}`
    print(terminal.stdout, `${client} is blocked ${end} (policy ${policy.name})`)
  })
}

export function unblockCommand(terminal: Terminal): Command {
  const command = new Command('unblock')
    .summary('end the block of a client')
    .description('Ends the block of a client. Needs a key with the scope admin.')
    .argument('<client>', 'the client, as it was blocked')
    .addHelpText('after', '\nExamples:\n  $ sluice policies unblock mallory')
  asksService(command, terminal.env)
  return command.action(async (client: string, options: ConnectionOptions) => {
    const name = await blockName(client)
    const policy = await withClient(options, terminal, async (service) => {
      try {
        return await service.policies.delete(name)
      } catch (error) {
        if (!(error instanceof ClientError) || error.code !== 'ERR_POLICY_UNKNOWN') throw error
        throw new UsageError(`${client} is not blocked by sluice policies block`)
      }
    })
    if (options.json) printJson(terminal.stdout, policy)
    else print(terminal.stdout, `${client} is not blocked any more`)
  })
}
