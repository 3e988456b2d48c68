// sluice policies: lists, reads, changes and deletes policies.

import { Command, Option } from 'commander'
import { type Client, ClientError, type ListedPolicy, type PolicySpec, type Rule } from 'sluice-client/node'
import { DEFAULT_POLICY } from '../../policies/policy.ts'
import { collect } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { UsageError } from '../exit-codes.ts'
import { readSpecFile, specOf, writePolicies } from '../policy-files.ts'
import { table } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'
import { allPolicies, exportCommand, importCommand } from './policy-transfer.ts'

export function policiesCommand(terminal: Terminal): Command {
  return new Command('policies')
    .summary('policies: list, get, set, delete, import, export')
    .description('Manages policies: which requests get which rules.')
    .addCommand(list(terminal))
    .addCommand(get(terminal))
    .addCommand(set(terminal))
    .addCommand(remove(terminal))
    .addCommand(importCommand(terminal))
    .addCommand(exportCommand(terminal))
}

function list(terminal: Terminal): Command {
  const command = new Command('list')
    .summary('list policies')
    .description('Lists policies, sorted by name.')
    .option('--search <text>', 'only policies with this text in the name, client or route')
    .addHelpText('after', '\nExamples:\n  $ sluice policies list\n  $ sluice policies list --search acme --json')
  asksService(command, terminal.env)
  return command.action(async (options: ConnectionOptions & { readonly search?: string }) => {
    const policies = await withClient(options, terminal, (client) => allPolicies(client, options.search))
    if (options.json) return printJson(terminal.stdout, policies)
    const rows = policies.map(({ name, client, route, rules, mode, scope, source }) => {
      return [name, client ?? '*', route ?? '*', [rules ?? []].flat().map(ruleText).join('; '), mode ?? '', scope ?? '', source]
    })
    print(terminal.stdout, table([['name', 'client', 'route', 'rules', 'mode', 'scope', 'source'], ...rows]))
  })
}

function get(terminal: Terminal): Command {
  const command = new Command('get')
    .summary('show one policy')
    .description('Shows one policy, in YAML.')
    .argument('<name>', 'the name of the policy')
    .addHelpText('after', '\nExamples:\n  $ sluice policies get default')
  asksService(command, terminal.env)
  return command.action(async (name: string, options: ConnectionOptions) => {
    const policy = await withClient(options, terminal, (client) => client.policies.get(name))
    if (options.json) printJson(terminal.stdout, policy)
    else print(terminal.stdout, writePolicies([policy]).trimEnd())
  })
}

interface SetOptions extends ConnectionOptions {
  readonly client?: string
  readonly route?: string
  readonly rule?: readonly string[]
  readonly mode?: NonNullable<PolicySpec['mode']>
  readonly scope?: NonNullable<PolicySpec['scope']>
  readonly file?: string
}

function set(terminal: Terminal): Command {
  const command = new Command('set')
    .summary('add or change a policy')
    .description(
      'Adds or changes a policy. When changing one, options that are not given keep their values. Needs a key with the scope admin.',
    )
    .argument('<name>', 'the name of the policy')
    .option('--client <pattern>', 'clients of the policy: one client, a prefix followed by *, or * for all')
    .option('--route <pattern>', 'routes of the policy, in the same form')
    .option('--rule <rule>', "a rule in notation, such as '100/minute'; repeat it for several", collect)
    .addOption(
      new Option('--mode <mode>', 'enforce: decide; shadow: count and report only; off: do not count').choices([
        'enforce',
        'shadow',
        'off',
      ]),
    )
    .addOption(
      new Option(
        '--scope <scope>',
        'what is counted: route: each client and route (default); policy: each client, over all routes of the policy',
      ).choices(['route', 'policy']),
    )
    .option('--file <file>', 'read the policy from a file, YAML or JSON; - for standard input')
    .addHelpText(
      'after',
      `
With --scope route, the default, a client has the whole limit again for each route: 10000/day means 10000 a day for each
route. Behind a proxy that calls /v1/authorize, the route is the path, and clients choose their paths: use --scope policy
there. The built-in default policy counts each client over all its paths there.

Examples:
  $ sluice policies set acme --client acme --rule 20/second --rule 10000/day --scope policy
  $ sluice policies set acme --mode shadow
  $ sluice policies set default --rule 500/minute --scope policy
  $ sluice policies set uploads --file uploads.yaml`,
    )
  asksService(command, terminal.env)
  return command.action(async (name: string, options: SetOptions) => {
    const given = await givenSpec(name, options, terminal)
    const policy = await withClient(options, terminal, async (client) => {
      const before = options.file === undefined ? await known(client, name) : undefined
      const spec = { ...(before && specOf(before)), ...given, name }
      if (spec.rules === undefined) throw new UsageError(`there is no policy ${name} yet: a new one needs --rule or --file`)
      if (options.file === undefined) checkCovers(name, spec)
      // The unchanged options come from `before`, so a change by somebody else in between must not be overwritten.
      return client.policies.put(spec as PolicySpec, before && { ifMatch: before.etag })
    })
    if (options.json) printJson(terminal.stdout, policy)
    else print(terminal.stdout, writePolicies([policy]).trimEnd())
  })
}

async function givenSpec(name: string, options: SetOptions, terminal: Terminal): Promise<Partial<PolicySpec>> {
  const { client, route, rule, mode, scope, file } = options
  const flags = {
    ...(client && { client }),
    ...(route && { route }),
    ...(rule && { rules: [...rule] }),
    ...(mode && { mode }),
    ...(scope && { scope }),
  }
  if (file === undefined) {
    if (Object.keys(flags).length === 0)
      throw new UsageError('name what to set: --client, --route, --rule, --mode, --scope or --file')
    return flags
  }
  if (Object.keys(flags).length > 0) throw new UsageError('--file has the whole policy: leave out the other flags')
  const spec = await readSpecFile(file, terminal)
  if (spec.name !== undefined && spec.name !== name) throw new UsageError(`${file} has the policy ${spec.name}, not ${name}`)
  return spec
}

/** Only the policy `default` covers everything. If both flags are missing, the message names them. */
function checkCovers(name: string, { client = '*', route = '*' }: Partial<PolicySpec>): void {
  if (name === DEFAULT_POLICY || client !== '*' || route !== '*') return
  throw new UsageError(
    `name the requests that the policy ${name} is for, with --client or --route: the policy for all requests is called ${DEFAULT_POLICY}`,
  )
}

async function known(client: Client, name: string): Promise<ListedPolicy | undefined> {
  try {
    return await client.policies.get(name)
  } catch (error) {
    if (error instanceof ClientError && error.code === 'ERR_POLICY_UNKNOWN') return undefined
    throw error
  }
}

function remove(terminal: Terminal): Command {
  const command = new Command('delete')
    .summary('delete a policy')
    .description('Deletes a policy. Requests that it covered get the next policy that matches. Needs a key with the scope admin.')
    .argument('<name>', 'the name of the policy')
    .addHelpText('after', '\nExamples:\n  $ sluice policies delete acme')
  asksService(command, terminal.env)
  return command.action(async (name: string, options: ConnectionOptions) => {
    const policy = await withClient(options, terminal, (client) => client.policies.delete(name))
    if (options.json) printJson(terminal.stdout, policy)
    else print(terminal.stdout, `${policy.name} is deleted`)
  })
}

function ruleText(rule: Rule): string {
  if (typeof rule === 'string') return rule
  const { algorithm, ...options } = rule
  return `${algorithm}(${Object.entries(options)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ')})`
}
