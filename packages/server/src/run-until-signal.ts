// Runs the service as a process until a signal stops it.

import type { RunningService } from './serve.ts'

/** Starts the service. If the signal is aborted, it may cancel the start by throwing the signal's reason. */
export type StartService = (signal: AbortSignal) => Promise<RunningService>

/**
 * Resolves when a signal has stopped the service and everything is saved. SIGTERM and SIGINT drain first; a second
 * one ends the process immediately. SIGHUP reloads the certificate and the policies of the configuration file.
 * With a function as argument, signals also work during the start: SIGTERM and SIGINT cancel it, SIGHUP is handled after it.
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
    // The service logs success and failure of the reload itself.
    else void service.reload().catch(() => {})
  }
  const stopRequested = new Promise<void>((resolve) => {
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
  await stopRequested
  await service.close()
}
