// sluice keys: creates, lists, rotates and revokes API keys.

import { Command, Option } from 'commander'
import type { KeyFacts, NewKey } from 'sluice-client/node'
import type { Scope } from '../../keys/api-key.ts'
import { collect, durationMs, timeFrom } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { createWhereKept } from '../offline-key.ts'
import { table } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

const expires = () =>
  new Option(
    '--expires <time>',
    "when it expires: 2027-01-31T00:00:00Z, or a duration from now such as '90d'; default: never",
  ).argParser(timeFrom(Date.now))

export function keysCommand(terminal: Terminal): Command {
  return new Command('keys')
    .summary('API keys: create, list, rotate, revoke')
    .description('Manages API keys. Needs a key with the scope admin.')
    .addCommand(create(terminal))
    .addCommand(list(terminal))
    .addCommand(rotate(terminal))
    .addCommand(revoke(terminal))
}

function create(terminal: Terminal): Command {
  const command = new Command('create')
    .summary('create a key')
    .description('Creates a key and prints its secret. The secret is shown only once.')
    .argument('<name>', 'the name of the key')
    .addOption(
      new Option('--scope <scope>', 'what the key may do: check, read or admin; repeat it for several; default: check').argParser(
        collect,
      ),
    )
    .addOption(expires())
    .option('--data-folder <path>', 'create it directly in the data folder, while the service is stopped')
    .option('--store <url>', 'create it directly in the database of a service with this store: Redis, PostgreSQL or SQLite')
    .option('--config <file>', 'create it directly where a service with this configuration file stores its keys')
    .addHelpText(
      'after',
      `
If no admin key is left, use --data-folder, --store or --config to create one without the service. The key is written
directly to the place where the service stores its keys. Flags, SLUICE_ variables and file determine this place, as for
sluice serve.

Examples:
  $ sluice keys create checkout
  $ sluice keys create dashboards --scope read --expires 90d
  $ sluice keys create rescue --scope admin --data-folder sluice-data
  $ sluice keys create rescue --scope admin --store redis://127.0.0.1:6379
  $ SLUICE_API_KEY=$(sluice keys create ci --scope check --json | jq -r .secret)`,
    )
  asksService(command, terminal.env)
  return command.action(async (name: string, options: CreateOptions) => {
    const { scope: scopes = ['check'], expires: expiresAt, dataFolder, store, config } = options
    const wanted = { name, scopes, ...(expiresAt && { expiresAt }) }
    const place = { ...(dataFolder && { dataFolder }), ...(store && { store }), ...(config && { config }) }
    const made =
      Object.keys(place).length === 0
        ? await withClient(options, terminal, (client) => client.keys.create(wanted))
        : await createWhereKept(place, terminal.env, wanted)
    tell(made, options, terminal)
  })
}

interface CreateOptions extends ConnectionOptions {
  readonly scope?: Scope[]
  readonly expires?: Date
  readonly dataFolder?: string
  readonly store?: string
  readonly config?: string
}

function list(terminal: Terminal): Command {
  const command = new Command('list')
    .summary('list keys')
    .description('Lists all keys, newest first. Secrets are not stored, so they are not listed.')
    .addHelpText('after', '\nExamples:\n  $ sluice keys list')
  asksService(command, terminal.env)
  return command.action(async (options: ConnectionOptions) => {
    const keys = await withClient(options, terminal, (client) => client.keys.list())
    if (options.json) return printJson(terminal.stdout, keys)
    const rows = keys.map((key) => [
      key.id,
      key.name,
      key.scopes.join(','),
      stateOf(key),
      day(key.createdAt),
      day(key.lastUsedAt),
    ])
    print(terminal.stdout, table([['id', 'name', 'scopes', 'state', 'created', 'last used'], ...rows]))
  })
}

function rotate(terminal: Terminal): Command {
  const command = new Command('rotate')
    .summary('replace a key')
    .description('Creates a second key with the same name and scopes, and prints its secret. The secret is shown only once.')
    .argument('<id>', 'the key to replace')
    .option('--grace <duration>', "how long the old key stays valid, such as '1h'; default: until it is revoked", durationMs)
    .addOption(expires())
    .addHelpText('after', '\nExamples:\n  $ sluice keys rotate 4kXb2mQ9aZ01 --grace 1h')
  asksService(command, terminal.env)
  return command.action(async (id: string, options: ConnectionOptions & { grace?: number; expires?: Date }) => {
    const { grace, expires: expiresAt } = options
    const wanted = { ...(grace !== undefined && { graceSeconds: Math.ceil(grace / 1000) }), ...(expiresAt && { expiresAt }) }
    const made = await withClient(options, terminal, (client) => client.keys.rotate(id, wanted))
    tell(made, options, terminal)
  })
}

function revoke(terminal: Terminal): Command {
  const command = new Command('revoke')
    .summary('revoke a key')
    .description('Revokes a key: from now on it is refused. The last key with the scope admin is revoked only with --force.')
    .argument('<id>', 'the key to revoke')
    .option('--force', 'revoke it even if no other key has the scope admin')
    .addHelpText('after', '\nExamples:\n  $ sluice keys revoke 4kXb2mQ9aZ01')
  asksService(command, terminal.env)
  return command.action(async (id: string, options: ConnectionOptions & { readonly force?: boolean }) => {
    const { force = false } = options
    const key = await withClient(options, terminal, (client) => client.keys.revoke(id, { force }))
    if (options.json) printJson(terminal.stdout, key)
    else print(terminal.stdout, `${key.id} (${key.name}) is revoked`)
  })
}

function tell({ key, secret }: NewKey, { json }: ConnectionOptions, { stdout, stderr }: Terminal): void {
  if (json) return printJson(stdout, { ...key, secret })
  // Only the secret goes to standard output, so that a script can read it.
  print(
    stderr,
    `${key.id} (${key.name}), ${key.scopes.join(', ')}${key.expiresAt ? `, until ${key.expiresAt.toISOString()}` : ''}`,
  )
  print(stderr, 'The secret is shown only once:')
  print(stdout, secret)
}

function stateOf({ revokedAt, expiresAt }: KeyFacts): string {
  if (revokedAt !== undefined) return 'revoked'
  if (expiresAt === undefined) return 'valid'
  return expiresAt.getTime() <= Date.now() ? 'expired' : `until ${day(expiresAt)}`
}

function day(time: Date | undefined): string {
  return time === undefined ? 'never' : time.toISOString().slice(0, 10)
}
