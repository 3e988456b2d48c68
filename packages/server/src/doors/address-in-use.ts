// The error of a door whose address belongs to another process.

import { type ListenAddress, showListen } from '../config/addresses.ts'

/**
 * Replaces the error of an address in use by one that names the option. Keeps `code` and `syscall`, so that the command prints only the
 * message, as for any error of the operating system. Returns every other error as it is.
 */
export function addressInUse(error: unknown, address: ListenAddress, flag: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== 'EADDRINUSE') return error
  const message = `${showListen(address)} is in use by another process: choose another with ${flag}`
  return Object.assign(new Error(message), { code, syscall })
}
