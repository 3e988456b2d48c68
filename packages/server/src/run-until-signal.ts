// Runs the service as a process: until somebody says stop.

import type { RunningService } from './serve.ts'

/**
 * Resolves when a signal has stopped the service and all is saved. SIGTERM and SIGINT drain first; a second
 * one ends the process at once. SIGHUP reads the certificate and the policies of the configuration file again.
 */
export function runUntilSignal(service: RunningService): Promise<void> {
  return new Promise((resolve, reject) => {
    let isStopping = false
    const stop = (): void => {
      if (isStopping) process.exit(1)
      isStopping = true
      service.close().then(resolve, reject)
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
    // The service logs what it reloaded, and also why it could not.
    process.on('SIGHUP', () => void service.reload().catch(() => {}))
  })
}
