// sluice audit: the audit log of the service.

import { Command, Option } from 'commander'
import type { AuditPage } from 'sluice-client'
import { wholeNumber } from '../arguments.ts'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { count, table } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

interface AuditOptions extends ConnectionOptions {
  readonly of: 'changes' | 'sign-ins'
  readonly target?: string
  readonly before?: string
  readonly limit: number
}

const DEFAULT_LIMIT = 20

export function auditCommand(terminal: Terminal): Command {
  const command = new Command('audit')
    .summary('see who changed what')
    .description(
      'Lists administrative changes, newest first, with the name that the API key had at that time. Needs a key with the scope admin.',
    )
    .argument('[search]', 'text to find in the action, the target, or the id or name of the actor')
    .addOption(new Option('--of <log>', 'the log to read').choices(['changes', 'sign-ins']).default('changes'))
    .option('--target <target>', 'only entries about this policy, key, or client and route')
    .option('--before <cursor>', 'older entries: the cursor that the page before has printed')
    .option('--limit <entries>', 'entries at most', wholeNumber(1, 1000), DEFAULT_LIMIT)
    .addHelpText(
      'after',
      '\nExamples:\n  $ sluice audit\n  $ sluice audit key.revoke\n  $ sluice audit deploy-bot --limit 100\n  $ sluice audit --of sign-ins --json',
    )
  asksService(command, terminal.env)
  return command.action(async (search: string | undefined, options: AuditOptions) => {
    const { of, target, before, limit } = options
    const query = { of, limit, ...(search && { search }), ...(target && { target }), ...(before && { before }) }
    const page = await withClient(options, terminal, (client) => client.audit(query))
    if (options.json) printJson(terminal.stdout, page)
    else for (const text of pageTexts(page)) print(terminal.stdout, text)
  })
}

function pageTexts({ entries, next, lookedAt }: AuditPage): string[] {
  const rows = entries.map(({ time, actor, actorName, action, target, address = '' }) => [
    time,
    actorName === undefined || actorName === actor ? actor : `${actorName} (${actor})`,
    action,
    target,
    address,
  ])
  const list = rows.length === 0 ? 'No entry was found.' : table([['time', 'who', 'did', 'to', 'from'], ...rows])
  const more = next === undefined ? [] : [`${count(lookedAt)} entries were looked at. Older ones: --before ${next}`]
  return [list, ...more]
}
