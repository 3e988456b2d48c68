// sluice config: shows and validates the configuration without starting the service.

import { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { ConfigFileSchema } from '../../config/config-file.ts'
import { printableConfig, printConfig } from '../../config/print-config.ts'
import { readTlsFiles } from '../../config/tls-files.ts'
import { type ServeFlags, takesServeFlags } from '../serve-flags.ts'
import { countOf } from '../table.ts'
import { print, printJson, type Terminal } from '../terminal.ts'

export function configCommand(terminal: Terminal): Command {
  return new Command('config')
    .summary('configuration: validate, print, schema')
    .description('Shows and validates the configuration of the service without starting it. Takes the flags of serve.')
    .addCommand(validate(terminal))
    .addCommand(printed(terminal))
    .addCommand(schema(terminal))
}

function validate(terminal: Terminal): Command {
  const command = new Command('validate')
    .summary('report all problems')
    .description('Reads flags, environment and file, and reports all problems. Also reads the files of --tls-cert and --tls-key.')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 if the configuration is valid, 2 if not.\n\nExamples:\n  $ sluice config validate --config sluice.yaml',
    )
  return takesServeFlags(command).action(async ({ json, ...flags }: ServeFlags & { readonly json?: boolean }) => {
    const { config, written, file } = await loadConfig({
      flags,
      env: terminal.env,
      tell: (message) => print(terminal.stderr, message),
    })
    await readTlsFiles(config, written)
    const policies = file?.policies.length ?? 0
    if (json) printJson(terminal.stdout, { valid: true, policies })
    else
      print(
        terminal.stdout,
        `The configuration is valid${file === undefined ? '' : `, with ${countOf(policies, 'policy', 'policies')}`}.`,
      )
  })
}

function printed(terminal: Terminal): Command {
  const command = new Command('print')
    .summary('show every value and its origin')
    .description('Shows the value of every option and its origin: a flag, the environment, the file, or the default.')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ sluice config print --config sluice.yaml\n  $ SLUICE_LISTEN=8081 sluice config print --json',
    )
  return takesServeFlags(command).action(async ({ json, ...flags }: ServeFlags & { readonly json?: boolean }) => {
    const loaded = await loadConfig({ flags, env: terminal.env, tell: (message) => print(terminal.stderr, message) })
    if (json) printJson(terminal.stdout, printableConfig(loaded))
    else print(terminal.stdout, printConfig(loaded).trimEnd())
  })
}

function schema(terminal: Terminal): Command {
  return new Command('schema')
    .summary('print the JSON Schema of the file')
    .description('Prints the JSON Schema of the configuration file, for editors.')
    .option('--json', 'has no effect: a schema is always JSON')
    .addHelpText('after', '\nExamples:\n  $ sluice config schema > sluice.schema.json')
    .action(() => printJson(terminal.stdout, ConfigFileSchema))
}
