// sluice check: one check from the command line, or many from a file.

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Command } from 'commander'
import type { Attributes, CheckDecision, CheckRequest, Client } from 'sluice-client/node'
import { LIMITS } from '../../contract/limits.ts'
import { attribute, wholeNumber } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { ProgressBar } from '../progress-bar.ts'
import { count, wait } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

interface CheckOptions extends ConnectionOptions {
  readonly cost: number
  readonly attribute?: Attributes
  readonly file?: string
}

export function checkCommand(terminal: Terminal): Command {
  const command = new Command('check')
    .summary('check a request and spend its cost')
    .description('Checks whether a client may send a request now. If so, spends the cost.')
    .argument('[client_id]', 'the client to count')
    .argument('[route]', 'the route that is requested')
    .option('--cost <units>', 'units to spend', wholeNumber(1), 1)
    .option('--attribute <name=value>', 'a fact about the request, such as plan=free; repeat it for several', attribute)
    .option(
      '--file <file>',
      'check every line of a file instead: {"client_id", "route", "attributes", "cost"} in JSON; - for standard input',
    )
    .addHelpText(
      'after',
      `
Exit code: 0 if allowed, 1 if denied (with --file: if any check was denied).

Examples:
  $ sluice check acme /v1/orders
  $ sluice check acme /v1/exports --cost 50 --json
  $ sluice check ada /v1/orders --attribute org=acme --attribute plan=free
  $ sluice check acme deploy && ./deploy.sh
  $ sluice check --file checks.jsonl --json > decisions.jsonl`,
    )
  asksService(command, terminal.env)
  return command.action(async (clientId: string | undefined, route: string | undefined, options: CheckOptions) => {
    const { file, cost, attribute: attributes } = options
    if (file !== undefined) {
      if (clientId !== undefined) throw new UsageError('give either a client and a route, or --file')
      return withClient(options, terminal, (client) => checkFile(client, file, options, terminal))
    }
    if (clientId === undefined || route === undefined) throw new UsageError('check needs a client and a route, or --file')
    const decision = await withClient(options, terminal, (client) => client.check({ clientId, route, attributes, cost }))
    if (options.json) printJson(terminal.stdout, view(decision))
    else print(terminal.stdout, sentence(decision))
    if (!decision.allowed) terminal.exitCode = EXIT.denied
  })
}

async function checkFile(client: Client, path: string, { json }: CheckOptions, terminal: Terminal): Promise<void> {
  const checks = await readChecks(path === '-' ? terminal.stdin : createReadStream(path), path)
  const progress = new ProgressBar(terminal, 'checks', checks.length)
  let allowed = 0
  try {
    for (let i = 0; i < checks.length; i += LIMITS.mostChecks) {
      const some = checks.slice(i, i + LIMITS.mostChecks)
      const decisions = await client.checkMany(some)
      for (const [j, decision] of decisions.entries()) {
        if (decision.allowed) allowed += 1
        if (json) printJson(terminal.stdout, { client_id: some[j].clientId, route: some[j].route, ...view(decision) }, 0)
      }
      progress.add(some.length)
    }
  } finally {
    progress.end()
  }
  if (!json) print(terminal.stdout, `${count(allowed)} allowed, ${count(checks.length - allowed)} denied`)
  if (allowed < checks.length) terminal.exitCode = EXIT.denied
}

/** Reads all checks before the first is sent, so that a mistake in the last line spends nothing. */
async function readChecks(input: Readable, path: string): Promise<CheckRequest[]> {
  const checks: CheckRequest[] = []
  let number = 0
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      number += 1
      if (line.trim() !== '') checks.push(readCheck(line))
    }
  } catch (error) {
    const where = number === 0 ? path : `${path}:${number}`
    throw new UsageError(`${where}: ${error instanceof SyntaxError ? 'is not JSON' : (error as Error).message}`)
  }
  return checks
}

function readCheck(line: string): CheckRequest {
  const { client_id: clientId, route, attributes, cost = 1, ...others } = JSON.parse(line)
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw new Error(`a check has no field ${JSON.stringify(other)}: it has client_id, route, attributes and cost`)
  if (typeof clientId !== 'string' || typeof route !== 'string') throw new Error('a check needs client_id and route')
  if (!Number.isSafeInteger(cost) || cost < 1)
    throw new Error(`cost must be a whole number of at least 1, got ${JSON.stringify(cost)}`)
  return { clientId, route, attributes, cost }
}

function sentence(decision: CheckDecision): string {
  const { allowed, limit, remaining, resetAfterMs, isShadowDenied, storeFallback } = decision
  // Nothing was counted, so there are no numbers to show.
  if (storeFallback === 'allow') return 'Allow  the store does not answer, and nothing is counted'
  if (storeFallback === 'deny') return `Deny   the store does not answer, try again in ${wait(decision.retryAfterMs)}`
  const left = `${count(remaining)} of ${count(limit)} left`
  const reason = decision.reason === undefined ? '' : `: ${decision.reason}`
  if (!allowed) return `Deny   ${limit === 0 ? 'everything is denied' : left}, ${whenToRetry(decision)}${reason}`
  const shadow = isShadowDenied ? ' (its rules deny this; the policy is in shadow mode)' : ''
  return `Allow  ${left}, all free again in ${wait(resetAfterMs)}${shadow}`
}

export function whenToRetry({ limit, retryable, retryAfterMs }: CheckDecision): string {
  if (retryAfterMs === Number.POSITIVE_INFINITY) return limit === 0 ? 'waiting does not help' : 'the cost is above the limit'
  return retryable ? `try again in ${wait(retryAfterMs)}` : `used up for another ${wait(retryAfterMs)}`
}

/** Infinity becomes null, since JSON has no infinity. */
function view({ allowed, isShadowDenied, storeFallback, policy, rule, reason, ...decision }: CheckDecision) {
  const { limit, remaining, retryAfterMs, retryable, resetAfterMs } = decision
  const retry = retryAfterMs === Number.POSITIVE_INFINITY ? null : retryAfterMs
  const numbers = { limit, remaining, retryAfterMs: retry, retryable, resetAfterMs }
  const names = { ...(policy && { policy, rule }), ...(reason && { reason }) }
  return { allowed, ...numbers, ...(isShadowDenied && { isShadowDenied }), ...(storeFallback && { storeFallback }), ...names }
}
