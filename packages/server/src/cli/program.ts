// The `sluice` command: its subcommands and its error messages.

import { Command, CommanderError } from 'commander'
import { ServerError } from '../errors.ts'
import { nearest } from '../input/near-word.ts'
import { VERSION } from '../version.ts'
import { exitCodeFor, isClientError, UnreachableError, UsageError } from './exit-codes.ts'
import { hintFor } from './hints.ts'
import { print, type Terminal } from './terminal.ts'

/** Commands in the order of help. Each is loaded on demand, since the service takes a while to load. */
const COMMANDS: Readonly<Record<string, (terminal: Terminal) => Promise<Command>>> = {
  serve: async (terminal) => (await import('./commands/serve.ts')).serveCommand(terminal),
  config: async (terminal) => (await import('./commands/config.ts')).configCommand(terminal),
  policies: async (terminal) => (await import('./commands/policies.ts')).policiesCommand(terminal),
  keys: async (terminal) => (await import('./commands/keys.ts')).keysCommand(terminal),
  audit: async (terminal) => (await import('./commands/audit.ts')).auditCommand(terminal),
  records: async (terminal) => (await import('./commands/records.ts')).recordsCommand(terminal),
  check: async (terminal) => (await import('./commands/check.ts')).checkCommand(terminal),
  reserve: async (terminal) => (await import('./commands/holds.ts')).reserveCommand(terminal),
  settle: async (terminal) => (await import('./commands/holds.ts')).settleCommand(terminal),
  cancel: async (terminal) => (await import('./commands/holds.ts')).cancelCommand(terminal),
  extend: async (terminal) => (await import('./commands/holds.ts')).extendCommand(terminal),
  usage: async (terminal) => (await import('./commands/counters.ts')).usageCommand(terminal),
  reset: async (terminal) => (await import('./commands/counters.ts')).resetCommand(terminal),
  simulate: async (terminal) => (await import('./commands/simulate.ts')).simulateCommand(terminal),
  top: async (terminal) => (await import('./commands/top.ts')).topCommand(terminal),
  health: async (terminal) => (await import('./commands/health.ts')).healthCommand(terminal),
}

/** Arguments that need no command. */
const ALONE = ['--version', '-V']

/** Builds all commands, or only the one named by the first argument. */
export async function buildProgram(terminal: Terminal, first = ''): Promise<Command> {
  const program = new Command('sluice').description('A rate limiting service and its command line.').version(VERSION)
  const wanted = Object.hasOwn(COMMANDS, first) ? [first] : ALONE.includes(first) ? [] : Object.keys(COMMANDS)
  for (const name of wanted) program.addCommand(await COMMANDS[name](terminal))
  program.addHelpText(
    'after',
    `
Commands that ask a service read its address from SLUICE_URL or --url, and the API key from SLUICE_API_KEY or --key-file.

They end with 0 if it was done, 1 if a check was denied, 2 if they were called wrongly, 3 if the service
could not be reached or did not answer in time, and 4 if it refused.

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

/** Runs a command line. Returns the exit code. */
export async function runProgram(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const program = await buildProgram(terminal, args[0])
    refuseUnknown(program, args)
    await program.parseAsync(args, { from: 'user' })
    return terminal.exitCode
  } catch (error) {
    explain(error, terminal)
    return exitCodeFor(error)
  }
}

/** Refuses unknown commands together with --help. Commander would print the help of the parent command. */
function refuseUnknown(program: Command, args: readonly string[]): void {
  let parent = program
  for (const word of args) {
    const names = parent.commands.map((command) => command.name())
    if (names.length === 0 || word.startsWith('-')) return
    if (word === 'help') continue
    const found = parent.commands.find((command) => command.name() === word)
    if (found === undefined) {
      const near = nearest(word, names)
      return parent.error(`error: unknown command '${word}'${near === undefined ? '' : `\n(Did you mean ${near}?)`}`)
    }
    parent = found
  }
}

function explain(error: unknown, { stderr }: Terminal): void {
  // Commander has already printed its message.
  if (error instanceof CommanderError) return
  if (isClientError(error) || error instanceof ServerError) {
    const { message, problems } = error
    print(stderr, problems.length > 1 ? problems.map((problem) => problem.message).join('\n') : message)
    const hint = hintFor(error)
    if (hint !== undefined) print(stderr, hint)
    return
  }
  const isPlain = error instanceof UsageError || error instanceof UnreachableError || isSystemError(error)
  if (isPlain) return print(stderr, error.message)
  print(stderr, error instanceof Error ? (error.stack ?? error.message) : String(error))
}

/** An error of the operating system, such as a port in use. Its message is enough. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)]
}
