// How commands reach the service: its address, the key, how long to wait.
// What must stay true: a key never stands on a command line, where every process of the machine can read it.

import { readFileSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { type Client, createClient } from '../client/client.ts'
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

/** Gives a command the options of all that ask the service. */
export function asksService(command: Command, env: Terminal['env']): Command {
  return command
    .addOption(new Option('--url <url>', 'the service [SLUICE_URL]').default(env.SLUICE_URL || DEFAULT_URL, DEFAULT_URL))
    .option('--key-file <file>', 'a file with the API key [SLUICE_API_KEY holds the key itself]')
    .option('--timeout <ms>', 'how long to wait for an answer', wholeNumber(1, 2 ** 31 - 1), DEFAULT_TIMEOUT_MS)
    .option('--json', 'print JSON')
}

/** Runs something with a client, and closes it. */
export async function withClient<T>(
  { url, keyFile, timeout }: ConnectionOptions,
  { env }: Terminal,
  run: (client: Client) => Promise<T>,
): Promise<T> {
  const apiKey = keyFile === undefined ? env.SLUICE_API_KEY?.trim() : keyFrom(keyFile)
  const client = createClient({ url, timeoutMs: timeout, retry: false, ...(apiKey ? { apiKey } : {}) })
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
