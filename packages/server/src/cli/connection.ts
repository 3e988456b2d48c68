// Connection options of the commands: address, key, timeout.
// Invariant: a key never stands on a command line, where every process of the machine can read it.

import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { type Client, createClient } from 'sluice-client/node'
import { wholeNumber } from './arguments.ts'
import { UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

export interface ConnectionOptions {
  readonly url: string
  readonly keyFile?: string
  readonly timeout: number
  readonly json?: boolean
}

const DEFAULT_URL = 'http://127.0.0.1:8080'
const DEFAULT_TIMEOUT_MS = 5000

/** Adds the connection options to a command. */
export function asksService(command: Command, env: Terminal['env']): Command {
  return command
    .addOption(new Option('--url <url>', 'the service [SLUICE_URL]').default(env.SLUICE_URL || DEFAULT_URL, DEFAULT_URL))
    .option('--key-file <file>', 'a file with the API key [SLUICE_API_KEY holds the key itself]')
    .option('--timeout <ms>', 'time to wait for an answer', wholeNumber(1, 2 ** 31 - 1), DEFAULT_TIMEOUT_MS)
    .option('--json', 'print JSON')
}

/** Creates a client, runs `use` with it, and closes it. */
export async function withClient<T>(
  { url, keyFile, timeout }: ConnectionOptions,
  { env }: Terminal,
  run: (client: Client) => Promise<T>,
): Promise<T> {
  const apiKey = keyFile === undefined ? env.SLUICE_API_KEY?.trim() : keyFrom(keyFile)
  const client = createClient({ url, failure: { timeoutMs: timeout }, retry: false, ...(apiKey ? { apiKey } : {}) })
  try {
    return await run(client)
  } finally {
    client.close()
  }
}

function keyFrom(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new UsageError(`the key file ${path} cannot be read: ${(error as Error).message}`)
  }
}
