// sluice policies: lists, reads and deletes policies. Other files of this folder change them.

import { Command } from 'commander'
import type { ListedPolicy, Rule } from 'sluice-client/node'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { writePolicies } from '../policy-files.ts'
import { table } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'
import { blockCommand, unblockCommand } from './policy-blocks.ts'
import { setCommand } from './policy-set.ts'
import { shadowCommand } from './policy-shadow.ts'
import { allPolicies, exportCommand, importCommand } from './policy-transfer.ts'

export function policiesCommand(terminal: Terminal): Command {
  return new Command('policies')
    .summary('policies: list, get, set, shadow, delete, block, unblock, import, export')
    .description('Manages policies: which requests get which rules.')
    .addCommand(list(terminal))
    .addCommand(get(terminal))
    .addCommand(setCommand(terminal))
    .addCommand(shadowCommand(terminal))
    .addCommand(remove(terminal))
    .addCommand(blockCommand(terminal))
    .addCommand(unblockCommand(terminal))
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
    const rows = policies.map((policy) => {
      const { name, client, route, rules, mode, source } = policy
      const written = [rules ?? []].flat().map(ruleText).join('; ')
      return [
        name,
        client ?? '*',
        route ?? '*',
        whereText(policy),
        written,
        modeText(policy),
        mode === 'deny' ? '' : perText(policy),
        source,
      ]
    })
    print(terminal.stdout, table([['name', 'client', 'route', 'where', 'rules', 'mode', 'per', 'source'], ...rows]))
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

function whereText({ where = {} }: ListedPolicy): string {
  return Object.entries(where)
    .map(([attribute, pattern]) => `${attribute}=${pattern}`)
    .join(' ')
}

function modeText({ mode = 'enforce', applies, expired, expires_at }: ListedPolicy): string {
  const until = expired ? ' (expired)' : expires_at === undefined ? '' : ` until ${expires_at}`
  return `${mode}${applies === 'always' ? ', always' : ''}${until}`
}

/** The keys that are counted by, unless a rule has its own. */
function perText({ per, scope }: ListedPolicy): string {
  if (per === undefined) return scope === 'policy' ? 'client' : 'client, route'
  return [per].flat().join(', ') || 'everybody'
}
