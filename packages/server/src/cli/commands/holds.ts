// sluice reserve, settle, cancel, extend: holds from the command line.

import { Command, InvalidArgumentError } from 'commander'
import type { Attributes, ClientHold, Units, UnitsByRule } from 'sluice-client/node'
import { attribute } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { count } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'
import { whenToRetry } from './check.ts'

interface ReserveFlags extends ConnectionOptions {
  readonly hold?: Units
  readonly cost?: Units
  readonly atLeast?: Units
  readonly ttl?: string
  readonly attribute?: Attributes
  readonly expired?: 'charge' | 'release'
}

const UNITS = 'units: a number, or rule=number; repeat it for several rules'

export function reserveCommand(terminal: Terminal): Command {
  const command = new Command('reserve')
    .summary('hold units until it is known what was used')
    .description('Holds units of a client and prints the token of the hold. Settle or cancel the hold when the work is done.')
    .argument('<client_id>', 'the client to count')
    .argument('<route>', 'the route that is requested')
    .option('--attribute <name=value>', 'a fact about the request, such as plan=free; repeat it for several', attribute)
    .option('--hold <units>', `hold these ${UNITS}`, unitsOf)
    .option('--cost <units>', `spend these ${UNITS}`, unitsOf)
    .option('--at-least <units>', `accept fewer held ${UNITS}`, unitsOf)
    .option('--ttl <duration>', 'time until the hold expires, such as 90s')
    .option('--expired <end>', 'if the hold expires, charge its units or release them', oneOf('charge', 'release'))
    .addHelpText(
      'after',
      `
Exit code: 0 if the units are held, 1 if denied.

Examples:
  $ sluice reserve acme /v1/chat --hold tokens=4000 --ttl 2m
  $ token=$(sluice reserve acme deploy) && ./deploy.sh; sluice settle "$token"`,
    )
  asksService(command, terminal.env)
  return command.action(async (clientId: string, route: string, flags: ReserveFlags) => {
    const { hold, cost, atLeast, ttl, expired, attribute: attributes } = flags
    const given = { ...(hold !== undefined && { hold }), ...(cost !== undefined && { cost }), ...(expired && { expired }) }
    const request = { clientId, route, attributes, ...given, ...(atLeast !== undefined && { atLeast }), ...(ttl && { ttl }) }
    const reserved = await withClient(flags, terminal, (client) => client.reserve(request))
    if (flags.json) printJson(terminal.stdout, view(reserved))
    else if (reserved.allowed) print(terminal.stdout, reserved.token ?? '')
    else print(terminal.stderr, denial(reserved))
    if (!reserved.allowed) terminal.exitCode = EXIT.denied
  })
}

export function settleCommand(terminal: Terminal): Command {
  const command = new Command('settle')
    .summary('end a hold and charge what was used')
    .description('Ends a hold. Charges what was used, or all that is held.')
    .argument('<token>', 'the token that reserve printed')
    .option('--used <units>', `charge these ${UNITS}`, unitsOf)
    .addHelpText('after', '\nExamples:\n  $ sluice settle "$token"\n  $ sluice settle "$token" --used tokens=812')
  asksService(command, terminal.env)
  return command.action(async (token: string, options: ConnectionOptions & { readonly used?: Units }) => {
    await withClient(options, terminal, (client) => client.openHold(token).settle(options.used))
    report(terminal, options, 'settled')
  })
}

export function cancelCommand(terminal: Terminal): Command {
  const command = new Command('cancel')
    .summary('end a hold and charge nothing')
    .description('Ends a hold. Charges nothing.')
    .argument('<token>', 'the token that reserve printed')
    .addHelpText('after', '\nExamples:\n  $ sluice cancel "$token"')
  asksService(command, terminal.env)
  return command.action(async (token: string, options: ConnectionOptions) => {
    await withClient(options, terminal, (client) => client.openHold(token).cancel())
    report(terminal, options, 'cancelled')
  })
}

export function extendCommand(terminal: Terminal): Command {
  const command = new Command('extend')
    .summary('let a hold expire later')
    .description('Lets a hold expire after a time from now.')
    .argument('<token>', 'the token that reserve printed')
    .argument('<duration>', 'time from now, such as 90s')
    .addHelpText('after', '\nExamples:\n  $ sluice extend "$token" 5m')
  asksService(command, terminal.env)
  return command.action(async (token: string, ttl: string, options: ConnectionOptions) => {
    await withClient(options, terminal, (client) => client.openHold(token).extend(ttl))
    report(terminal, options, 'extended')
  })
}

function report(terminal: Terminal, { json }: ConnectionOptions, done: string): void {
  if (json) printJson(terminal.stdout, { done })
  else print(terminal.stdout, done)
}

/** Reads `4000` or `tokens=4000`. Repeated options with rule names are joined. */
function unitsOf(text: string, before: Units | undefined): Units {
  const [, rule, digits] = /^(?:([^=]+)=)?(\d{1,16})$/.exec(text) ?? []
  const value = Number(digits)
  if (digits === undefined || !Number.isSafeInteger(value)) {
    throw new InvalidArgumentError("It must be a whole number, or such as 'tokens=4000'.")
  }
  if (before !== undefined && (rule === undefined || typeof before === 'number')) {
    throw new InvalidArgumentError('It must be one number, or a number for each rule.')
  }
  if (rule === undefined) return value
  return { ...(before as UnitsByRule | undefined), [rule]: value }
}

function oneOf(...words: readonly string[]): (text: string) => string {
  return (text) => {
    if (words.includes(text)) return text
    throw new InvalidArgumentError(`It must be ${words.join(' or ')}.`)
  }
}

function denial({ decision }: ClientHold): string {
  return `Deny   ${count(decision.remaining)} of ${count(decision.limit)} left, ${whenToRetry(decision)}`
}

function view({ allowed, token, granted, expiresAt, decision }: ClientHold) {
  const { limit, remaining, retryAfterMs, retryable, resetAfterMs } = decision
  const retry = retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs
  const numbers = { limit, remaining, retryAfterMs: retry, retryable, resetAfterMs }
  return { allowed, ...numbers, ...(allowed && { token, granted, expiresAt: expiresAt ?? null }) }
}
