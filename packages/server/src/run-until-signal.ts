// Runs the service as a process: until somebody says stop.

import type { RunningService } from './serve.ts'

/** Starts the service. Once the signal is aborted, it may give the start up by throwing the reason of the signal. */
export type StartService = (signal: AbortSignal) => Promise<RunningService>

/**
 * Resolves when a signal has stopped the service and all is saved. SIGTERM and SIGINT drain first; a second
 * one ends the process at once. SIGHUP reads the certificate and the policies of the configuration file again.
 * Given a function, it listens to signals during the start as well: SIGTERM and SIGINT end the start, SIGHUP is obeyed after it.
 */
export async function runUntilSignal(run: RunningService | StartService): Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  let service: RunningService | undefined
  let isReloadDue = false
  const stop = (): void => {
    if (signal.aborted) process.exit(1)
    stopping.abort()
  }
  const reload = (): void => {
    if (service === undefined) isReloadDue = true
    // The service logs what it reloaded, and also why it could not.
    else void service.reload().catch(() => {})
  }
  const told = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve())
  })
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', reload)
  try {
    service = typeof run === 'function' ? await run(signal) : run
  } catch (error) {
    if (signal.aborted && error === signal.reason) return
    throw error
  }
  if (isReloadDue) reload()
  await told
  await service.close()
}
