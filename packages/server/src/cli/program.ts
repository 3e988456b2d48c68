// The `sluice` command: its subcommands, and what happens when one of them fails.

import { Command, CommanderError } from 'commander'
import { ClientError } from '../client/client-error.ts'
import { ServerError } from '../errors.ts'
import { VERSION } from '../version.ts'
import { checkCommand } from './commands/check.ts'
import { resetCommand, usageCommand } from './commands/counters.ts'
import { healthCommand } from './commands/health.ts'
import { keysCommand } from './commands/keys.ts'
import { recordsCommand } from './commands/records.ts'
import { topCommand } from './commands/top.ts'
import { exitCodeFor, UsageError } from './exit-codes.ts'
import { print, type Terminal } from './terminal.ts'

/** Commands that need nothing of the service itself. It takes a while to load: whoever only asks does not wait for that. */
const LIGHT = ['check', 'usage', 'reset', 'keys', 'records', 'top', 'health']

/** All commands; or only the light ones, if the first word of the command line is one of them. */
export async function buildProgram(terminal: Terminal, first = ''): Promise<Command> {
  const program = new Command('sluice').description('A rate limiting service, and how to talk to it.').version(VERSION)
  if (!LIGHT.includes(first)) {
    const { serveCommand } = await import('./commands/serve.ts')
    const { configCommand } = await import('./commands/config.ts')
    const { policiesCommand } = await import('./commands/policies.ts')
    program.addCommand(serveCommand(terminal)).addCommand(configCommand(terminal)).addCommand(policiesCommand(terminal))
  }
  program
    .addCommand(keysCommand(terminal))
    .addCommand(recordsCommand(terminal))
    .addCommand(checkCommand(terminal))
    .addCommand(usageCommand(terminal))
    .addCommand(resetCommand(terminal))
    .addCommand(topCommand(terminal))
    .addCommand(healthCommand(terminal))
    .addHelpText(
      'after',
      `
Commands that ask a service read its address from SLUICE_URL or --url, and the API key from SLUICE_API_KEY or --key-file.

They end with 0 if it was done, 1 if a check was denied, 2 if they were called wrongly, 3 if the service
could not be reached, and 4 if it refused.

Examples:
  $ sluice serve
  $ sluice check acme /v1/orders
  $ sluice policies set acme --client acme --rule 20/second`,
    )
  for (const command of withSubcommands(program)) {
    command
      .exitOverride()
      .configureOutput({ writeOut: (text) => terminal.stdout.write(text), writeErr: (text) => terminal.stderr.write(text) })
  }
  return program
}

/** Runs a command line; → what to tell the shell. */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const program = await buildProgram(terminal, args[0])
    await program.parseAsync(args, { from: 'user' })
    return terminal.exitCode
  } catch (error) {
    explain(error, terminal)
    return exitCodeFor(error)
  }
}

function explain(error: unknown, { stderr }: Terminal): void {
  // Commander has said what is wrong.
  if (error instanceof CommanderError) return
  if (error instanceof ClientError || error instanceof ServerError) {
    const { message, problems } = error
    print(stderr, problems.length > 1 ? problems.map((problem) => problem.message).join('\n') : message)
    const hint = hintFor(error.code)
    if (hint !== undefined) print(stderr, hint)
    return
  }
  if (error instanceof UsageError || isSystemError(error)) return print(stderr, error.message)
  print(stderr, error instanceof Error ? (error.stack ?? error.message) : String(error))
}

/** What the operating system refused, such as a port that is taken: its message says it all. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}

function hintFor(code: string): string | undefined {
  if (code === 'ERR_UNREACHABLE') return 'Is it running? Start it with: sluice serve'
  if (code === 'ERR_UNAUTHENTICATED') return 'Give the key in SLUICE_API_KEY or in a file with --key-file.'
  if (code === 'ERR_KEY_LAST')
    return 'sluice keys create <name> --scope admin makes another; --force revokes this one all the same.'
  return undefined
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)]
}
