// sluice health: whether the service wants requests, for containers and load balancers.

import { Command } from 'commander'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

const LOST = '; policies or keys were lost: see sluice records status'

export function healthCommand(terminal: Terminal): Command {
  const command = new Command('health')
    .summary('see whether the service wants requests')
    .description('Asks whether the service is ready for requests. Needs no key.')
    .addHelpText(
      'after',
      '\nEnds with 0 if it is ready, 3 if it cannot be reached, 4 if it is not ready.\n\nExamples:\n  $ sluice health',
    )
  asksService(command, terminal.env)
  return command.action(async (options: ConnectionOptions) => {
    const health = await withClient(options, terminal, (client) => client.health())
    if (options.json) printJson(terminal.stdout, health)
    else print(terminal.stdout, `${health.state}, counts in ${health.store}${health.records === 'lost' ? LOST : ''}`)
    if (!health.isReady) terminal.exitCode = EXIT.refused
  })
}
