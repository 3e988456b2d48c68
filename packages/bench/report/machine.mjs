// The machine and the time of the measurements.

import { cpus, loadavg, totalmem } from 'node:os'

export function describeMachine() {
  const [{ model }] = cpus()
  const gigabytes = Math.round(totalmem() / 2 ** 30)
  return [
    `Node ${process.version}, V8 ${process.versions.v8}, ${process.platform} ${process.arch}`,
    `${model.trim()}, ${cpus().length} cores, ${gigabytes} GB, load ${loadavg()[0].toFixed(1)} at the start`,
  ]
}
