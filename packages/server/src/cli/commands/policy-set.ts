// sluice policies set: adds or changes a policy.

import { Command, Option } from 'commander'
import { type Client, ClientError, type ListedPolicy, type PolicySpec } from 'sluice-client/node'
import { isRequestKey } from '../../policies/conditions.ts'
import { DEFAULT_POLICY } from '../../policies/policy.ts'
import { POLICY_APPLIES, POLICY_MODES } from '../../policies/policy-schema.ts'
import { attribute, collect, timeFrom } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { UsageError } from '../exit-codes.ts'
import { readSpecFile, specOf, writePolicies } from '../policy-files.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

interface SetOptions extends ConnectionOptions {
  readonly client?: string
  readonly route?: string
  readonly rule?: readonly string[]
  readonly mode?: NonNullable<PolicySpec['mode']>
  readonly scope?: NonNullable<PolicySpec['scope']>
  readonly where?: Readonly<Record<string, string>>
  readonly applies?: NonNullable<PolicySpec['applies']>
  readonly per?: readonly string[]
  readonly expiresAt?: Date | 'never'
  readonly reason?: string
  readonly showReason?: boolean
  readonly file?: string
}

export function setCommand(terminal: Terminal): Command {
  const command = new Command('set')
    .summary('add or change a policy')
    .description(
      'Adds or changes a policy. When changing one, options that are not given keep their values. Needs a key with the scope admin.',
    )
    .argument('<name>', 'the name of the policy')
    .option('--client <pattern>', 'clients of the policy: one client, a prefix followed by *, or * for all')
    .option('--route <pattern>', 'routes of the policy, in the same form')
    .option('--where <condition>', "a condition on an attribute: 'plan=free', 'region=eu*'; repeat it for several", attribute)
    .addOption(
      new Option(
        '--applies <how>',
        'most-specific (default), or always: joins the decision of every request that it matches',
      ).choices([...POLICY_APPLIES]),
    )
    .option('--rule <rule>', "a rule in notation, such as '100/minute'; repeat it for several", collect)
    .addOption(
      new Option(
        '--mode <mode>',
        'enforce: decide; shadow: count and report only; off: do not count; deny: deny everything',
      ).choices([...POLICY_MODES]),
    )
    .addOption(
      new Option(
        '--scope <scope>',
        'what is counted: route: each client and route (default); policy: each client, over all routes of the policy',
      ).choices(['route', 'policy']),
    )
    .option(
      '--per <key>',
      "what is counted instead: client, route or an attribute; repeat it for several; '' for one counter for everybody",
      collect,
    )
    .option('--expires-at <time>', "when it ends: a time, or a duration from now such as '12h'; never: it does not", expiry)
    .option('--reason <text>', 'the reason for the policy')
    .option('--show-reason', 'show the reason to callers that the policy denies')
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
  $ sluice policies set free --where plan=free --rule 100/day --scope policy
  $ sluice policies set orgs --applies always --per org --rule 1000/minute
  $ sluice policies set launch --client acme --rule 5000/minute --expires-at 24h
  $ sluice policies set uploads --file uploads.yaml`,
    )
  asksService(command, terminal.env)
  return command.action(async (name: string, options: SetOptions) => {
    const given = await givenSpec(name, options, terminal)
    const policy = await withClient(options, terminal, async (client) => {
      const before = options.file === undefined ? await known(client, name) : undefined
      const { expires_at, ...fields } = { ...(before && specOf(before)), ...given, name }
      const spec = { ...fields, ...(expires_at && { expires_at }) }
      if (spec.rules === undefined && spec.mode !== 'deny')
        throw new UsageError(
          before === undefined
            ? `there is no policy ${name} yet: a new one needs --rule or --file`
            : `the policy ${name} denies everything and has no rules: with another mode it needs --rule`,
        )
      if (options.file === undefined) checkCovers(name, spec)
      // The unchanged options come from `before`, so a change by somebody else in between must not be overwritten.
      const expected = before === undefined ? { ifNoneMatch: '*' as const } : { ifMatch: before.etag }
      return client.policies.put(spec as PolicySpec, options.file === undefined ? expected : {})
    })
    if (options.json) printJson(terminal.stdout, policy)
    else print(terminal.stdout, writePolicies([policy]).trimEnd())
  })
}

/** A policy of which some fields are given. An expiry of null is removed. */
type GivenSpec = Partial<Omit<PolicySpec, 'expires_at'>> & { readonly expires_at?: string | null | undefined }

async function givenSpec(name: string, options: SetOptions, terminal: Terminal): Promise<GivenSpec> {
  const { client, route, where, applies, rule, mode, scope, per, expiresAt, reason, showReason, file } = options
  const flags: GivenSpec = {
    ...(client && { client }),
    ...(route && { route }),
    ...(where && { where }),
    ...(applies && { applies }),
    ...(rule && { rules: [...rule] }),
    ...(mode && { mode }),
    ...(scope && { scope }),
    ...(per && { per: per.filter((key) => key !== '') }),
    ...(expiresAt && { expires_at: expiresAt === 'never' ? null : expiresAt.toISOString() }),
    ...(reason && { reason }),
    ...(showReason && { show_reason: true }),
  }
  if (file === undefined) {
    if (Object.keys(flags).length === 0)
      throw new UsageError('name what to set, such as --client, --route, --where, --rule, --mode, --scope or --file')
    return flags
  }
  if (Object.keys(flags).length > 0) throw new UsageError('--file has the whole policy: leave out the other flags')
  const spec = await readSpecFile(file, terminal)
  if (spec.name !== undefined && spec.name !== name) throw new UsageError(`${file} has the policy ${spec.name}, not ${name}`)
  return spec
}

/** Parses a future time, or `never`. */
function expiry(text: string): Date | 'never' {
  return text === 'never' ? text : timeFrom(Date.now)(text)
}

/** Only the policy `default` covers everything. If all flags are missing, the message names them. */
function checkCovers(name: string, { client = '*', route = '*', where = {}, applies, per, rules }: Partial<PolicySpec>): void {
  if (name === DEFAULT_POLICY || client !== '*' || route !== '*' || applies === 'always') return
  const counted = [per ?? [], ...[rules ?? []].flat().map((rule) => (typeof rule === 'string' ? [] : (rule.per ?? [])))].flat()
  if (Object.keys(where).length > 0 || counted.some((key) => !isRequestKey(key))) return
  throw new UsageError(
    `name the requests that the policy ${name} is for, with --client, --route or --where: the policy for all requests is called ${DEFAULT_POLICY}`,
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
