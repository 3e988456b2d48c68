// Commands a second over the protocol of Redis: the RESP door beside redis-server's own INCR, from the same client.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { startRedis } from '../../../../test/servers/redis-server.mjs'
import { perSecond, times } from '../../report/numbers.mjs'
import { cpuMicrosOf } from '../../rounds/cpu-time.mjs'
import { startServer } from '../servers.mjs'
import { TURNS, turnsOf } from '../turns.mjs'

/** @import { Table } from '../../report/table.mjs' */
/** @import { Results } from '../../rounds/results.mjs' */
/** @import { Group } from '../../rounds/rounds.mjs' */
/** @import { Plan } from '../service.mjs' */
/** @import { Timing } from '../traffic.mjs' */

export const name = 'RESP'
export const file = import.meta.url

export const INCR = 'redis-server, INCR'
export const THROTTLE = 'service, CL.THROTTLE'
const CHECK = 'service, SLUICE.CHECK'

/** @type {Record<string, string[]>} */
const COMMANDS = {
  [INCR]: ['INCR', 'key:__rand_int__'],
  [THROTTLE]: ['CL.THROTTLE', 'key:__rand_int__', '15', '30', '60'],
  [CHECK]: ['SLUICE.CHECK', 'client-__rand_int__', '/v1/orders'],
}

/** Commands that each connection sends before it waits for their replies. */
export const DEPTHS = [64, 1]

const CONNECTIONS = 50
const KEYS = 100_000

/** Commands for each millisecond of a measurement, so that it takes about that long. */
const COMMANDS_A_MS = { 64: 800, 1: 60 }

const run = promisify(execFile)

/** @param {number} depth */
export function groupOf(depth) {
  return depth === 1 ? 'one at a time' : `${depth} pipelined`
}

/**
 * @param {Plan} plan
 * @returns {Group[]}
 */
export function groups({ timing }) {
  return DEPTHS.map((depth) => ({
    name: groupOf(depth),
    turns: TURNS,
    entrants: Object.keys(COMMANDS).map((entrant) => ({ name: entrant, params: { entrant, depth, ...timing } })),
  }))
}

/** @param {{ entrant: string, depth: 1 | 64 } & Timing} params */
export async function start({ entrant, depth, ...timing }) {
  const started = entrant === INCR ? await startBareRedis() : await startDoor()
  return turnsOf(started, timing, async ({ port, key, cpuMicros }, { warmUpMs, timedMs }) => {
    const count = Math.ceil((warmUpMs + timedMs) * COMMANDS_A_MS[depth])
    const auth = key === '' ? [] : ['-a', key]
    const traffic = ['-p', port, '-P', depth, '-c', CONNECTIONS, '-n', count, '-r', KEYS, '--csv'].map(String)
    const startMicros = await cpuMicros()
    const { stdout } = await run('redis-benchmark', [...auth, ...traffic, ...COMMANDS[entrant]])
    const cpuMicrosACommand = ((await cpuMicros()) - startMicros) / count
    const commandsPerSecond = Number(/^"[^\n]*?","([\d.]+)"/m.exec(stdout.split('\n').slice(1).join('\n'))?.[1])
    return { commandsPerSecond, cpuMicrosACommand }
  })
}

async function startDoor() {
  const server = await startServer('service')
  return { ...server, port: server.respPort }
}

async function startBareRedis() {
  const redis = await startRedis()
  const cpuMicros = async () => cpuMicrosOf(Number(redis.process?.pid))
  return { port: redis.port, key: '', cpuMicros, stop: () => redis.stop() }
}

/**
 * @param {Plan} _plan
 * @param {Results} results
 * @returns {Table}
 */
export function table(_plan, results) {
  return {
    title: "Commands a second over Redis' protocol: redis-benchmark, 50 connections, 100,000 keys",
    note: 'In brackets: of INCR. The service has a key, 101 policies and its statistics. CPU time is that of the server.',
    columns: ['server and command', ...DEPTHS.flatMap((depth) => [groupOf(depth), 'CPU time a command'])],
    rows: Object.keys(COMMANDS).map((entrant) => [entrant, ...DEPTHS.flatMap((depth) => cells(results, entrant, depth))]),
  }
}

/**
 * @param {Results} results
 * @param {string} entrant
 * @param {number} depth
 */
function cells(results, entrant, depth) {
  const group = groupOf(depth)
  const rate = results.median([name, group, entrant, 'commandsPerSecond'])
  const ratio = results.medianRatio([name, group, entrant, 'commandsPerSecond'], [name, group, INCR, 'commandsPerSecond'])
  const micros = results.median([name, group, entrant, 'cpuMicrosACommand'])
  return [`${perSecond(rate)} (${times(ratio)})`, `${micros.toFixed(2)} µs`]
}
