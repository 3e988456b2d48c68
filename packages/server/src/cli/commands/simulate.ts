// sluice simulate: replays logs under proposed policies.

import { writeFile } from 'node:fs/promises'
import { Command, Option } from 'commander'
import { PATH_FOLDS } from 'sluice/http'
import type { PolicySpec } from 'sluice-client/node'
import { FORM_NAMES, FORMS, formCalled } from '../../simulate/forms/forms.ts'
import { FieldError } from '../../simulate/forms/log-form.ts'
import { openLogs } from '../../simulate/reading/open-logs.ts'
import { type LineCounts, readLogs, UnknownFormError } from '../../simulate/reading/read-logs.ts'
import { LogClock } from '../../simulate/replay/log-clock.ts'
import { bookOf, enforced } from '../../simulate/replay/policy-books.ts'
import { DEFAULT_MAX_CLIENTS, DEFAULT_MAX_KEYS, Simulation } from '../../simulate/replay/simulation.ts'
import { htmlReport } from '../../simulate/report/html-report.ts'
import { reportOf } from '../../simulate/report/report.ts'
import { collect, durationMs, wholeNumber } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { UsageError } from '../exit-codes.ts'
import { delimiter, hasHeading, listOf, type MappingOptions, mappingFrom, names, time } from '../log-mapping.ts'
import { readPolicyFile, specOf } from '../policy-files.ts'
import { ProgressBar } from '../progress-bar.ts'
import { simulationText } from '../simulation-text.ts'
import { print, printJson, type Terminal } from '../terminal.ts'
import { allPolicies } from './policy-transfer.ts'

interface SimulateOptions extends ConnectionOptions, MappingOptions {
  readonly policies: string
  readonly against?: string
  readonly partial?: boolean
  readonly enforceShadow?: boolean
  readonly as: 'check' | 'authorize'
  readonly format: string
  readonly delimiter: string
  readonly since?: Date
  readonly until?: Date
  readonly reorder: number
  readonly top: number
  readonly limits: boolean
  readonly maxClients: number
  readonly maxKeys: number
  readonly html?: string
}

/** Width of a report that does not go to a terminal. */
const COLUMNS = 100

/** The word of --against for the policies of the running service. */
const CURRENT = 'current'

export function simulateCommand(terminal: Terminal): Command {
  const command = new Command('simulate')
    .summary('replay logs under proposed policies')
    .description(
      'Replays the requests of logs under proposed policies, and reports who would have been denied, how often, when and by which rule. Nothing is sent and nothing is changed.',
    )
    .argument('<log...>', 'logs, plain or compressed with gzip, the earliest first; - for standard input')
    .requiredOption('--policies <file>', 'the proposed policies, in the form of the configuration file')
    .option(
      '--against <file>',
      `also replay under these policies, and report what changes; ${CURRENT}: those of the running service`,
    )
    .option('--partial', 'the proposed file has only the policies that change: all others are those of --against')
    .option('--enforce-shadow', 'decide as if proposed policies in shadow mode enforced')
    .addOption(
      new Option(
        '--as <endpoint>',
        'check: decide as POST /v1/check; authorize: as /v1/authorize, where the built-in policy counts all paths of a client together',
      )
        .choices(['check', 'authorize'])
        .default('check'),
    )
    .addOption(
      new Option('--format <form>', 'the form of the logs; auto: recognised by the first line')
        .choices(['auto', ...FORM_NAMES])
        .default('auto'),
    )
    .option('--client <fields>', 'fields that name the client: the first one that a line has', names)
    .option('--time <fields>', 'fields with the time', names)
    .option('--path <fields>', 'fields with the path or URL, of which the plain path is the route', names)
    .option('--method <fields>', 'fields with the method, for --with', names)
    .option('--host <fields>', 'fields with the host, for --with', names)
    .option('--route <fields>', 'fields that are the route as they are, instead of the path', names)
    .option('--cost <fields>', 'fields with the cost; default: 1', names)
    .option('--attribute <name=field>', 'an attribute and its field; repeat it for several', collect)
    .option(
      '--with <parts>',
      'put method, host or both before the path in the route, as in POST /orders',
      listOf(['method', 'host']),
    )
    .option('--fold <spellings>', `differences of a path to ignore: ${PATH_FOLDS.join(', ')}`, listOf(PATH_FOLDS))
    .option('--delimiter <text>', 'between the fields of CSV; tab for a tab', delimiter, ',')
    .option('--since <time>', 'leave out requests before this time', time)
    .option('--until <time>', 'leave out requests from this time on', time)
    .option('--reorder <duration>', 'put requests in order that are out of order by at most this much', durationMs, 0)
    .option('--top <n>', 'clients in each list', wholeNumber(0, 10_000), 20)
    .option('--no-limits', 'do not search for the smallest limits, which takes a part of the time')
    .option('--max-clients <n>', 'clients with counts of their own', wholeNumber(1, 10_000_000), DEFAULT_MAX_CLIENTS)
    .option('--max-keys <n>', 'counters in memory', wholeNumber(1000, 50_000_000), DEFAULT_MAX_KEYS)
    .option('--html <file>', 'also write the report as one HTML page with pictures')
    .addHelpText('after', HELP)
  asksService(command, terminal.env)
  return command.action(async (logs: string[], options: SimulateOptions) => simulate(logs, options, terminal))
}

const HELP = `
Formats:
${FORMS.map(({ name, aliases, about }) => `  ${[name, ...aliases].join(', ').padEnd(24)}${about}`).join('\n')}

A field is called by its name in the log (remote_user, http_user_agent, request.remote_ip, c-ip), or by its column (#10).
Lines that cannot be read are counted, and the first few are shown. Counters start empty.

Exit code: 0 if the logs were replayed, 2 if an argument, a policy or a file name is wrong, 3 or 4 if --against current failed.

Examples:
  $ sluice simulate --policies new.yaml access.log
  $ sluice simulate --policies new.yaml --against current access.log.2.gz access.log.1 access.log
  $ sluice simulate --policies one.yaml --against current --partial --html report.html access.log
  $ sluice simulate --policies new.yaml --format json --client user.id,remote_addr --time ts --path uri requests.jsonl
  $ zcat logs/*.gz | sluice simulate --policies new.yaml --format envoy --reorder 30s --json -`

async function simulate(files: readonly string[], options: SimulateOptions, terminal: Terminal): Promise<void> {
  if (files.filter((name) => name === '-').length + Number(options.policies === '-') > 1) {
    throw new UsageError('standard input can be read only once: use - for one log')
  }
  const clock = new LogClock()
  const { proposed, current } = await readBooks(options, clock, terminal)
  const { maxClients, maxKeys, limits, as } = options
  const form = formCalled(options.format)
  const mapping = mappingFrom(options)
  const logs = await openLogs(files, terminal.stdin).catch((error: Error) => {
    throw new UsageError(error.message)
  })
  const bytes = logs.some((log) => log.bytes === undefined) ? 0 : logs.reduce((sum, log) => sum + (log.bytes ?? 0), 0)
  const progress = bytes > 0 ? new ProgressBar(terminal, 'bytes', bytes) : undefined
  const simulation = new Simulation({
    clock,
    proposed,
    current,
    maxClients,
    maxKeys,
    findsLimits: limits,
    asPaths: as === 'authorize',
  })
  let lines: LineCounts
  try {
    const { reorder, since, until } = options
    lines = await readLogs(
      logs,
      {
        ...{ form, mapping, delimiter: options.delimiter, hasHeading: hasHeading(mapping), reorderMs: reorder },
        ...{ sinceMs: since?.getTime() ?? 0, untilMs: until?.getTime() ?? Number.POSITIVE_INFINITY },
        onBytes: (read) => progress?.add(read),
      },
      (entry) => simulation.replay(entry),
    )
  } catch (error) {
    if (error instanceof FieldError || error instanceof UnknownFormError) throw new UsageError(error.message)
    throw error
  } finally {
    progress?.end()
    simulation.close()
  }
  const report = reportOf(simulation, options.top, lines)
  const against = options.against === CURRENT ? 'the policies in force' : options.against
  if (options.json) printJson(terminal.stdout, report)
  else print(terminal.stdout, simulationText(report, terminal.stdout.columns ?? COLUMNS, against))
  if (options.html !== undefined) await writeFile(options.html, htmlReport(report, { proposed: options.policies, against }))
}

async function readBooks(options: SimulateOptions, clock: LogClock, terminal: Terminal) {
  const { policies, against, partial = false, enforceShadow = false } = options
  if (partial && against === undefined) throw new UsageError('--partial needs --against: name the policies that stay as they are')
  const written = await readPolicyFile(policies, terminal)
  const specs = enforceShadow ? enforced(written) : written
  const before = against === undefined ? undefined : await policiesOf(against, options, terminal)
  return {
    proposed: bookOf(partial ? [...(before ?? []), ...specs] : specs, clock),
    current: before && bookOf(before, clock),
  }
}

async function policiesOf(against: string, options: SimulateOptions, terminal: Terminal): Promise<readonly PolicySpec[]> {
  if (against !== CURRENT) return readPolicyFile(against, terminal)
  const listed = await withClient(options, terminal, (client) => allPolicies(client))
  return listed.filter(({ source }) => source !== 'built-in').map(specOf)
}
