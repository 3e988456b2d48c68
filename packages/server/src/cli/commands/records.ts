// sluice records: policies and keys that the store has lost, status and restore.

import { Command } from 'commander'
import type { RecordNames, RecordsStatus, Restored } from 'sluice-client/node'
import { asksService, type ConnectionOptions, withClient } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

/** Names printed of each list. */
const MOST_SHOWN = 20

export function recordsCommand(terminal: Terminal): Command {
  return new Command('records')
    .summary('policies and keys that the store lost: status, restore')
    .description('Reports and restores policies and keys that the store has lost.')
    .addCommand(status(terminal))
    .addCommand(restore(terminal))
}

function status(terminal: Terminal): Command {
  const command = new Command('status')
    .summary('check whether policies and keys were lost')
    .description(
      'Reports whether the store lacks changes of policies and keys that an instance has seen. Needs a key with the scope read.',
    )
    .addHelpText('after', '\nExit code: 0 if nothing is lost, 4 if something is.\n\nExamples:\n  $ sluice records status')
  asksService(command, terminal.env)
  return command.action(async (options: ConnectionOptions) => {
    const records = await withClient(options, terminal, (client) => client.records.status())
    if (options.json) printJson(terminal.stdout, records)
    else for (const line of statusLines(records)) print(terminal.stdout, line)
    if (records.state === 'lost') terminal.exitCode = EXIT.refused
  })
}

function restore(terminal: Terminal): Command {
  const command = new Command('restore')
    .summary('restore lost policies and keys')
    .description(
      `Writes the policies and keys that the instance at --url knows to a store that lost them. Needs a key with the scope admin.

Revoked keys stay revoked, deleted policies stay deleted, and changes after the loss are kept. Entries of the audit log that the store lost are not restored, because no instance has them.`,
    )
    .option('--dry-run', 'report the plan without doing it')
    .addHelpText('after', '\nExamples:\n  $ sluice records restore --dry-run\n  $ sluice records restore')
  asksService(command, terminal.env)
  return command.action(async (options: ConnectionOptions & { dryRun?: boolean }) => {
    const { dryRun = false } = options
    const restored = await withClient(options, terminal, (client) => client.records.restore({ dryRun }))
    if (options.json) return printJson(terminal.stdout, restored)
    for (const line of restoredLines(restored)) print(terminal.stdout, line)
  })
}

function statusLines({ state, since, knownChanges, foundChanges, knownBy, unreadable }: RecordsStatus): string[] {
  const lines =
    state === 'kept'
      ? ['Nothing is lost.']
      : [
          `The store lost policies or keys, noticed ${since?.toISOString()}: this instance is at change ${knownChanges}, the store is at change ${foundChanges}.`,
          `Restore them with: sluice records restore${knownBy === undefined ? '' : ` --url <that instance>. It is ${knownBy}.`}`,
        ]
  return unreadable.count === 0 ? lines : [...lines, `cannot be read: ${listed(unreadable)}`]
}

function restoredLines({ dryRun, written, revoked, removed, kept, isExact }: Restored): string[] {
  const lists = [
    [dryRun ? 'to write' : 'written', written],
    [dryRun ? 'to revoke' : 'revoked', revoked],
    [dryRun ? 'to remove' : 'removed', removed],
    ['kept as changed after the loss', kept],
  ] as const
  const lines = lists.filter(([, { count }]) => count > 0).map(([what, names]) => `${what}: ${listed(names)}`)
  const doubt = isExact ? [] : ['The changes after the loss are not all known: every record in the store counts as changed.']
  return lines.length === 0 ? [dryRun ? 'There is nothing to restore.' : 'Nothing had to be restored.'] : [...lines, ...doubt]
}

function listed({ count, names }: RecordNames): string {
  const shown = names.slice(0, MOST_SHOWN).map(({ kind, id }) => `${kind} ${id}`)
  return `${count} (${shown.join(', ')}${count > shown.length ? ', …' : ''})`
}
