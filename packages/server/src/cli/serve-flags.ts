// Adds the flags of the service to a command. They come from the table of options.

import type { Command } from 'commander'
import { flags } from '../config/options.ts'

export type ServeFlags = Readonly<Record<string, string | boolean | undefined>>

export function takesServeFlags(command: Command): Command {
  for (const { usage, about } of flags()) command.option(usage, about)
  return command
}
