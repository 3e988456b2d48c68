// Real Redis servers for tests and benches: on loopback, on free ports, in temporary folders, stopped by their process ids.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ServerProcess } from './server-process.mjs'

const STARTS_WITHIN_MS = 10_000

/** @returns {Promise<number>} a port of 127.0.0.1 that nobody listens on */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address())
  probe.close()
  await once(probe, 'close')
  return port
}

/**
 * Sends one command and returns the output of redis-cli.
 * @param {number} port
 * @param {...(string | number)} command
 */
export async function redisCli(port, ...command) {
  const { stdout } = await promisify(execFile)('redis-cli', ['-p', String(port), ...command.map(String)])
  return stdout.trim()
}

/**
 * Waits until a condition holds.
 * @param {string} what
 * @param {() => Promise<boolean>} holds
 */
export async function until(what, holds, withinMs = STARTS_WITHIN_MS) {
  const endMs = performance.now() + withinMs
  while (!(await holds().catch(() => false))) {
    if (performance.now() > endMs) throw new Error(`${what}: not within ${withinMs} ms`)
    await pause(20)
  }
}

/** One server. After `kill`, `start` uses the same port and folder. */
export class RedisServer extends ServerProcess {
  /**
   * @param {number} port
   * @param {readonly string[]} args
   */
  constructor(port, args) {
    super('redis')
    this.port = port
    this.args = args
    /** Path of the configuration file, if the server needs one. @type {string | undefined} */
    this.configFile = undefined
  }

  /** @param {...(string | number)} command */
  cli(...command) {
    return redisCli(this.port, ...command)
  }

  async start() {
    const config = this.configFile === undefined ? [] : [this.configFile]
    const where = [...config, '--port', String(this.port), '--bind', '127.0.0.1', '--dir', this.folder]
    // Serves a replica at once. By default a primary waits five seconds for other replicas.
    const how = ['--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0']
    const child = this.launch('redis-server', [...where, ...how, ...this.args])
    await until(`redis-server on port ${this.port}`, async () => {
      if (child.exitCode !== null || child.pid === undefined) throw new Error('redis-server did not start')
      return (await this.cli('PING')) === 'PONG'
    })
  }

  /**
   * Returns the names of keys that begin with `start` and have no expiry.
   * @param {string} start
   */
  async namesWithoutExpiry(start) {
    const names = (await this.cli('KEYS', `${start}*`)).split('\n').filter((line) => line !== '')
    const left = await Promise.all(names.map((name) => this.cli('PTTL', name)))
    return names.filter((_, i) => left[i] === '-1')
  }
}

/** @param {readonly string[]} args */
export async function startRedis(...args) {
  const server = new RedisServer(await freePort(), args)
  await server.start()
  return server
}

/** Starts a cluster of `primaries` that share the slots, with a replica of each. */
export async function startCluster(primaries = 3) {
  /** @type {RedisServer[]} */
  const nodes = []
  for (let i = 0; i < 2 * primaries; i++) {
    const busPort = String(await freePort())
    nodes.push(await startRedis('--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-node-timeout', '1000'))
  }
  const slots = 16_384
  for (let i = 0; i < primaries; i++) {
    const from = Math.floor((i * slots) / primaries)
    const to = Math.floor(((i + 1) * slots) / primaries) - 1
    await nodes[i].cli('CLUSTER', 'ADDSLOTSRANGE', from, to)
    await nodes[i].cli('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
  }
  for (const node of nodes.slice(1)) {
    await nodes[0].cli('CLUSTER', 'MEET', '127.0.0.1', node.port, node.args[node.args.indexOf('--cluster-port') + 1])
  }
  await until('the nodes of the cluster to know each other', () => knowEachOther(nodes))
  for (let i = 0; i < primaries; i++) {
    await nodes[primaries + i].cli('CLUSTER', 'REPLICATE', await nodes[i].cli('CLUSTER', 'MYID'))
  }
  await until('the cluster to be whole', async () => {
    const infos = await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'INFO')))
    const links = await Promise.all(nodes.slice(primaries).map((node) => node.cli('INFO', 'replication')))
    return (
      infos.every((info) => info.includes('cluster_state:ok')) && links.every((link) => link.includes('master_link_status:up'))
    )
  })
  return {
    nodes,
    primaries: nodes.slice(0, primaries),
    replicas: nodes.slice(primaries),
    stop: () => Promise.all(nodes.map((node) => node.stop())),
  }
}

/** Starts a primary, a replica of it, and a Sentinel that watches both under the name `main`. */
export async function startSentinel() {
  const primary = await startRedis()
  const replica = await startRedis('--replicaof', '127.0.0.1', String(primary.port))
  const sentinel = new RedisServer(await freePort(), ['--sentinel'])
  // A Sentinel writes its state into its configuration file, and starts only from a file.
  sentinel.configFile = join(sentinel.folder, 'sentinel.conf')
  writeFileSync(
    sentinel.configFile,
    `sentinel monitor main 127.0.0.1 ${primary.port} 1\nsentinel down-after-milliseconds main 500\n`,
  )
  await sentinel.start()
  await until('the replica to follow', async () => (await replica.cli('INFO', 'replication')).includes('master_link_status:up'))
  await until('the Sentinel to know the replica', async () =>
    (await sentinel.cli('SENTINEL', 'REPLICAS', 'main')).includes(String(replica.port)),
  )
  const servers = [sentinel, replica, primary]
  return { sentinel, replica, primary, stop: () => Promise.all(servers.map((server) => server.stop())) }
}

/** @param {readonly RedisServer[]} nodes */
async function knowEachOther(nodes) {
  const infos = await Promise.all(nodes.map((node) => node.cli('CLUSTER', 'INFO')))
  return infos.every((info) => info.includes(`cluster_known_nodes:${nodes.length}`))
}
