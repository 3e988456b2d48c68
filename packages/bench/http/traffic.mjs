// The traffic of the HTTP bench. Every server runs in a process of its own and so does who makes the requests. Servers take
// turns, many short ones, so that a slow second of the machine falls on all of them. Where that can be had, servers are kept on one
// processor and who makes the requests on another: a process that moves between them stays a third dearer for seconds.

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** @import { ChildProcess } from 'node:child_process' */

/** How long each server is warmed up, how many turns it has then, and how long one lasts. @typedef {{ warmUpMs: number, turns: number, turnMs: number }} Timing */

/** @typedef {{ requestsPerSecond: number, serverMicros: number }} Turn */

/**
 * @param {string} framework
 * @param {string[]} servers
 * @param {Timing} timing
 * @returns {Promise<Map<string, Turn[]>>} what each server did in each turn
 */
export async function takeTurns(framework, servers, { warmUpMs, turns, turnMs }) {
  const [ofServers, ofLoad] = twoProcessors()
  const load = start(ofLoad, 'load.mjs')
  const processes = servers.map((server) => start(ofServers, 'server-process.mjs', framework, server))
  await hear(load)
  const ports = await Promise.all(processes.map(hear))
  const taken = new Map(servers.map((server) => [server, /** @type {Turn[]} */ ([])]))
  for (const port of ports) await ask(load, { port, ms: warmUpMs })
  for (let turn = 0; turn < turns; turn++) {
    for (const [i, server] of servers.entries()) {
      const before = await ask(processes[i], 'usage')
      const { requests, seconds } = await ask(load, { port: ports[i], ms: turnMs })
      const micros = (await ask(processes[i], 'usage')) - before
      taken.get(server)?.push({ requestsPerSecond: requests / seconds, serverMicros: micros / requests })
    }
  }
  for (const child of [load, ...processes]) child.disconnect()
  return taken
}

/**
 * Two processors that this process may use; none where there is one only, or nobody to ask.
 * @returns {string[]}
 */
function twoProcessors() {
  const status = '/proc/self/status'
  const list = existsSync(status) ? /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(status, 'utf8')) : null
  const processors = (list?.[1].split(',') ?? []).flatMap((range) => {
    const [first, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => `${first + i}`)
  })
  return processors.length < 2 ? [] : processors.slice(0, 2)
}

/**
 * @param {string | undefined} processor
 * @param {string} file
 * @param {...string} args
 */
function start(processor, file, ...args) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), args)
  if (processor !== undefined) execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', processor, `${child.pid}`])
  return child
}

/**
 * @param {ChildProcess} child
 * @param {any} message
 */
function ask(child, message) {
  child.send(message)
  return hear(child)
}

/**
 * What a process says next. One that ends instead has printed why.
 * @param {ChildProcess} child
 * @returns {Promise<any>}
 */
async function hear(child) {
  const ended = new AbortController()
  const onExit = () => ended.abort(new Error(`${child.spawnargs.slice(1).join(' ')} ended`))
  child.once('exit', onExit)
  try {
    const [message] = await once(child, 'message', { signal: ended.signal })
    return message
  } finally {
    child.off('exit', onExit)
  }
}
