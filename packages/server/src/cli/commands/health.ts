// sluice health: reports readiness to containers and load balancers.

import { Command } from 'commander'
import type { Health } from 'sluice-client/node'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { ownHealth } from '../own-health.ts'
import { type ServeFlags, takesServeFlags } from '../serve-flags.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

const LOST = '; policies or keys were lost: see sluice records status'

export function healthCommand(terminal: Terminal): Command {
  const command = new Command('health')
    .summary('check whether the service is ready')
    .description(
      'Checks whether the service is ready for requests. Needs no key. Without --url and SLUICE_URL it asks the service that the flags, environment and file of serve describe. This also works if the service uses TLS or listens on a socket file.',
    )
    .addHelpText(
      'after',
      `
Exit code: 0 if it is ready, 3 if it cannot be reached, 4 if it is not ready.

Examples:
  $ sluice health
  $ sluice health --config sluice.yaml
  $ sluice health --url https://sluice.example`,
    )
  asksService(command, terminal.env)
  takesServeFlags(command)
  return command.action(async (options: ConnectionOptions & ServeFlags) => {
    const health = await ask(command, options, terminal)
    if (options.json) printJson(terminal.stdout, health)
    else print(terminal.stdout, `${health.state}, counts in ${health.store}${health.records === 'lost' ? LOST : ''}`)
    if (!health.isReady) terminal.exitCode = EXIT.refused
  })
}

function ask(command: Command, options: ConnectionOptions & ServeFlags, terminal: Terminal): Promise<Health> {
  const { url: _url, keyFile: _keyFile, timeout, json: _json, ...flags } = options
  const isElsewhere = command.getOptionValueSource('url') === 'cli' || Boolean(terminal.env.SLUICE_URL)
  if (isElsewhere) return withClient(options, terminal, (client) => client.health())
  return ownHealth({ flags, env: terminal.env }, timeout)
}
