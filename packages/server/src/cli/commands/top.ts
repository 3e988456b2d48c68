// sluice top: a live view of the rate of checks and of the clients that are denied most.
// Without a terminal it prints one view and ends.

import { Command, Option } from 'commander'
import type { Client } from 'sluice-client/node'
import { durationMs } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { LiveScreen } from '../live-screen.ts'
import { printJson, type Terminal } from '../terminal.ts'
import { readTop, topView } from '../top-view.ts'

interface TopOptions extends ConnectionOptions {
  readonly every: number
  readonly once: boolean
}

export function topCommand(terminal: Terminal): Command {
  const command = new Command('top')
    .summary('watch rates and the clients that are denied most')
    .description(
      'Shows the rate of checks and the clients that are denied most, live. Press q to leave. Shows only the instance that answers.',
    )
    .addOption(
      new Option('--every <duration>', "interval between updates, such as '5s'").argParser(durationMs).default(1000, '1s'),
    )
    .option('--once', 'print one view and end (the default without a terminal)', false)
    .addHelpText('after', '\nExamples:\n  $ sluice top\n  $ sluice top --once --json')
  asksService(command, terminal.env)
  return command.action(async (options: TopOptions) => {
    const isLive = terminal.stdout.isTTY === true && terminal.stdin.isTTY === true && !options.once && !options.json
    await withClient(options, terminal, async (client) => {
      if (isLive) return watch(client, options, terminal)
      const topData = await readTop(client)
      if (options.json) printJson(terminal.stdout, topData)
      else {
        const size = { columns: terminal.stdout.columns || 100, rows: 50 }
        terminal.stdout.write(`${topView(topData, options.url, { ...size, isLive: false }).join('\n')}\n`)
      }
    })
  })
}

/** Updates the view until the user leaves. If the service does not answer, shows that and tries again. */
async function watch(client: Client, { every, url }: TopOptions, terminal: Terminal): Promise<void> {
  const screen = new LiveScreen(terminal)
  try {
    while (!screen.isLeft) {
      const topData = await readTop(client).catch((error: unknown) => error as Error)
      screen.draw((columns, rows) => topView(topData, url, { columns, rows, isLive: true }))
      await screen.pause(every)
    }
  } finally {
    screen.close()
  }
}
