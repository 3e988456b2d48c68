// sluice policies import, sluice policies export: files in the form of the configuration file.

import { Command, Option } from 'commander'
import { type Client, ClientError, type ListedPolicy, type PolicySpec } from 'sluice-client/node'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { IMPORT_FORMATS, type ImportFormat, readImport, specOf, writePolicies, writeSpecs } from '../policy-files.ts'
import { ProgressBar } from '../progress-bar.ts'
import { countOf } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

/** Page size: the maximum of the service. */
const PAGE = 1000

/** Concurrent requests of an import. */
const AT_ONCE = 8

interface ImportOptions extends ConnectionOptions {
  readonly from?: ImportFormat
  readonly dryRun?: boolean
}

export function importCommand(terminal: Terminal): Command {
  const command = new Command('import')
    .summary('add or change all policies of files')
    .description(
      'Adds or changes all policies of files, YAML or JSON, in the form of the configuration file. Other policies are not changed. All files are validated before the first policy is sent.',
    )
    .argument('<files...>', 'the files; - for standard input')
    .addOption(
      new Option('--from <format>', "the files are those of another program: envoy, for Envoy's rate limit service").choices([
        ...IMPORT_FORMATS,
      ]),
    )
    .option('--dry-run', 'print the policies in the form of the configuration file, and change nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  $ sluice policies import policies.yaml\n  $ sluice policies export | sluice policies import - --url https://other.example\n  $ sluice policies import --from envoy --dry-run config/*.yaml > policies.yaml',
    )
  asksService(command, terminal.env)
  return command.action(async (files: readonly string[], options: ImportOptions) => {
    const { specs, differences } = await readImport(files, options.from, terminal)
    for (const { message } of differences) print(terminal.stderr, message)
    if (options.dryRun) {
      terminal.stdout.write(options.json ? `${JSON.stringify({ policies: specs, differences })}\n` : writeSpecs(specs))
      return
    }
    const progress = new ProgressBar(terminal, 'policies', specs.length)
    const done = await withClient(options, terminal, (client) => putAll(client, specs, progress)).finally(() => progress.end())
    if (options.json) printJson(terminal.stdout, { imported: done, ...(differences.length > 0 && { differences }) })
    else print(terminal.stdout, `${countOf(done, 'policy', 'policies')} imported`)
  })
}

/** Sends a few policies at a time. Stops at the first one that is refused, and reports how many were imported. */
async function putAll(client: Client, specs: readonly PolicySpec[], progress: ProgressBar): Promise<number> {
  let next = 0
  let done = 0
  let failed: ClientError | undefined
  const work = async (): Promise<void> => {
    while (next < specs.length && failed === undefined) {
      const spec = specs[next]
      next += 1
      try {
        await client.policies.put(spec)
        done += 1
        progress.add(1)
      } catch (error) {
        if (!(error instanceof ClientError)) throw error
        const { code, status, problems, mayHaveHappened } = error
        const message = `${spec.name}: ${error.message} (${done} of ${specs.length} were imported)`
        failed ??= new ClientError(code, message, { status, problems, mayHaveHappened, cause: error })
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  if (failed !== undefined) throw failed
  return done
}

export function exportCommand(terminal: Terminal): Command {
  const command = new Command('export')
    .summary('print all policies')
    .description('Prints all policies except the built-in one, in the form of the configuration file: YAML, or JSON with --json.')
    .addHelpText('after', '\nExamples:\n  $ sluice policies export > policies.yaml')
  asksService(command, terminal.env)
  return command.action(async (options: ConnectionOptions) => {
    const policies = await withClient(options, terminal, (client) => allPolicies(client))
    const made = policies.filter(({ source }) => source !== 'built-in')
    if (options.json) printJson(terminal.stdout, { policies: made.map(specOf) })
    // A terminal gets escaped text. A file or a program gets the exact text.
    else if (terminal.stdout.isTTY) print(terminal.stdout, writePolicies(made).trimEnd())
    else terminal.stdout.write(writePolicies(made))
  })
}

export async function allPolicies(client: Client, search?: string): Promise<ListedPolicy[]> {
  const policies: ListedPolicy[] = []
  let after: string | undefined
  do {
    const page = await client.policies.list({ limit: PAGE, ...(search && { search }), ...(after && { after }) })
    policies.push(...page.policies)
    after = page.next
  } while (after !== undefined)
  return policies
}
