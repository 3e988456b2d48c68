// sluice serve: runs the service until it gets a signal to stop.

import { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { readTlsFiles } from '../../config/tls-files.ts'
import { runUntilSignal } from '../../run-until-signal.ts'
import { type RunningService, serve } from '../../serve.ts'
import { AdminKeyFile } from '../admin-key-file.ts'
import { UsageError } from '../exit-codes.ts'
import { type ServeFlags, takesServeFlags } from '../serve-flags.ts'
import { print, type Terminal } from '../terminal.ts'
import { type KeyToShow, welcome } from '../welcome.ts'

interface OwnFlags {
  readonly adminKeyFile?: string
  readonly showKey?: boolean
}

export function serveCommand(terminal: Terminal): Command {
  const command = new Command('serve')
    .summary('run the service')
    .description(
      'Runs the service until it gets SIGTERM or SIGINT. The first signal drains: new requests are answered for --drain-delay, and open requests are finished. A second signal ends the process immediately. SIGHUP reloads the certificate and the policies, and logs the result. Every option can also be set in the environment or in the file of --config.',
    )
    .option(
      '--admin-key-file <file>',
      'Write the admin key of the first start to this file instead of printing it. Creates missing folders.',
    )
    .option('--show-key', 'Print the key of --admin-key-file at every start. For trials only.')
    .addHelpText(
      'after',
      `
Examples:
  $ sluice serve
  $ sluice serve --listen 0.0.0.0:8080 --store redis://redis:6379
  $ sluice serve --store sqlite:./sluice.db
  $ SLUICE_STORE=postgres://user:password@db.example/sluice sluice serve
  $ SLUICE_STORE=rediss://user:password@redis.example:6380 sluice serve --config sluice.yaml`,
    )
  return takesServeFlags(command).action(({ adminKeyFile, showKey, ...flags }: OwnFlags & ServeFlags) =>
    runUntilSignal((signal) => start({ own: { adminKeyFile, showKey }, flags, terminal, signal })),
  )
}

interface Start {
  readonly own: { readonly [Name in keyof OwnFlags]: OwnFlags[Name] | undefined }
  readonly flags: ServeFlags
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

async function start({ own: { adminKeyFile, showKey = false }, flags, terminal, signal }: Start): Promise<RunningService> {
  if (showKey && adminKeyFile === undefined) {
    throw new UsageError('--show-key shows the key of a file: name the file with --admin-key-file')
  }
  const { config, written, file } = await loadConfig({
    flags,
    env: terminal.env,
    tell: (message) => print(terminal.stderr, message),
  })
  await readTlsFiles(config, written)
  const keyFile = adminKeyFile === undefined ? undefined : new AdminKeyFile(adminKeyFile, showKey)
  keyFile?.check()
  let key: KeyToShow = config.keysRequired ? { kind: 'yours' } : { kind: 'none' }
  let isWelcomed = false
  const printWelcome = ({ address, adminAddress }: RunningService): void =>
    print(terminal.stderr, welcome({ address, adminAddress, config, key }))
  const service = await serve({
    config,
    file,
    signal,
    onFirstKey: (secret) => {
      key = keepKey(secret, keyFile, terminal)
      // If the database was not reachable at the start, the key is created later.
      if (isWelcomed) printWelcome(service)
    },
  })
  const trouble = service.trouble()
  if (key.kind === 'yours' && trouble !== undefined) key = { kind: 'awaited', trouble, path: keyFile?.path }
  if (key.kind === 'yours' && keyFile !== undefined) key = (await keyFile.validKey(service.adminAddress)) ?? key
  isWelcomed = true
  printWelcome(service)
  return service
}

/** Saves or prints the key first, because it cannot be shown again. */
function keepKey(secret: string, keyFile: AdminKeyFile | undefined, { stderr }: Terminal): KeyToShow {
  try {
    if (keyFile !== undefined) return keyFile.write(secret)
  } catch (error) {
    print(stderr, `The admin key cannot be saved: ${(error as Error).message}`)
  }
  print(stderr, `The admin key, shown only now:\n\n  ${secret}\n`)
  return { kind: 'shown', secret }
}
