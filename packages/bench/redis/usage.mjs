// The work that the servers of a place have done so far, as they report it.

import { Redis } from 'ioredis'
import { redisCli } from '../../../test/servers/redis-server.mjs'

/** @import { Place } from './connections.mjs' */

/**
 * `cpuMicros` is the CPU time of the server processes. `commandMicros` is the time of the sent commands, without the time to
 * read and answer them.
 * @typedef {{ cpuMicros: number, commandMicros: number, commands: number }} Usage
 */

/** One connection to each server, besides that of the measured client. @type {Map<number, Redis>} */
const observers = new Map()

/** @param {number} port */
function observerOf(port) {
  const observer = observers.get(port) ?? new Redis({ port, host: '127.0.0.1' })
  observers.set(port, observer)
  return observer
}

/**
 * @param {Place} place
 * @param {string[]} sends the commands to count
 * @returns {Promise<Usage>}
 */
export async function usageOf({ ports }, sends) {
  const usage = { cpuMicros: 0, commandMicros: 0, commands: 0 }
  for (const port of ports) {
    const info = await observerOf(port).info('cpu', 'commandstats')
    usage.cpuMicros += 1e6 * (numberIn(info, /^used_cpu_sys:(\S+)/m) + numberIn(info, /^used_cpu_user:(\S+)/m))
    for (const command of sends) {
      usage.commands += numberIn(info, new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm'))
      usage.commandMicros += numberIn(info, new RegExp(`^cmdstat_${command}:calls=\\d+,usec=(\\d+)`, 'm'))
    }
  }
  return usage
}

/** Entrants that take turns do not call this: one would empty the servers while another already works. @param {Place} place */
export async function empty({ ports }) {
  for (const port of ports) await redisCli(port, 'FLUSHALL')
}

/**
 * @param {string} info
 * @param {RegExp} pattern
 */
function numberIn(info, pattern) {
  return Number(pattern.exec(info)?.[1] ?? 0)
}
