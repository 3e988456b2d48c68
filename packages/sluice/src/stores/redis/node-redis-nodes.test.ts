import { createCluster } from '@redis/client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freshPrefix, patientLimiter, realCluster } from '../../../test/redis/real-redis.ts'
import { fixedWindow } from '../../index.ts'
import { type NodeRedisNode, nodeRedisNodes } from './node-redis-nodes.ts'
import { redisStore } from './redis-store.ts'

const cluster = realCluster()

/** A cluster of one node, whose routed commands are answered by `settle`. */
function oneNode(state: Partial<NodeRedisNode> = {}) {
  const sent: string[] = []
  const settles: (() => void)[] = []
  const client = {
    isReady: true,
    async sendCommand([name]: readonly string[]) {
      sent.push(`direct ${name}`)
    },
  }
  const node = { address: 'a:1', client, ...state }
  const { nodes, route } = nodeRedisNodes(
    { slots: [{ master: node }], nodeByAddress: new Map([['a:1', node]]) },
    (_key, [name]) => {
      sent.push(`routed ${name}`)
      return new Promise<void>((resolve) => settles.push(resolve))
    },
  )
  const settle = async () => {
    for (const each of settles.splice(0)) each()
    await new Promise(setImmediate)
  }
  return { nodes, route, sent, settle }
}

test('a command to a node goes to its client', () => {
  const { nodes, sent } = oneNode()
  expect(nodes.nodeOf(0)).toBe('a:1')
  nodes.send('a:1', 'k', ['one'])
  expect(sent).toEqual(['direct one'])
})

describe('a command is routed', () => {
  const sendCommand = async () => {}
  test.each<[string, Partial<NodeRedisNode>]>([
    ['if its node has no client yet', { client: undefined }],
    ['while the client connects', { connectPromise: Promise.resolve() }],
    ['while the client is not ready', { client: { isReady: false, sendCommand } }],
    ['if the client is a promise, as in older versions', { client: sendCommand() as never }],
  ])('%s', (_, state) => {
    const { nodes, sent } = oneNode(state)
    nodes.send('a:1', 'k', ['one'])
    expect(sent).toEqual(['routed one'])
  })

  test('if its node is unknown', () => {
    const { nodes, sent } = oneNode()
    nodes.send('b:2', 'k', ['one'])
    expect(sent).toEqual(['routed one'])
  })

  test('while another one is, so that it does not overtake that', async () => {
    const { nodes, route, sent, settle } = oneNode()
    route('k', ['one'])
    nodes.send('a:1', 'k', ['two'])
    await settle()
    nodes.send('a:1', 'k', ['three'])
    expect(sent).toEqual(['routed one', 'routed two', 'direct three'])
  })

  test('until the other one has failed', async () => {
    const client = { isReady: true, sendCommand: async () => 'direct' }
    const nodeByAddress = new Map([['a:1', { address: 'a:1', client }]])
    const { nodes, route } = nodeRedisNodes({ nodeByAddress }, () => Promise.reject(new Error('lost')))
    await expect(route('k', ['one'])).rejects.toThrow('lost')
    expect(await nodes.send('a:1', 'k', ['two'])).toBe('direct')
  })
})

test('hits in a real cluster do not pass through it, once its nodes are connected', async () => {
  const client = await createCluster({
    rootNodes: cluster.it.primaries.map(({ port }) => ({ url: `redis://127.0.0.1:${port}` })),
  }).connect()
  onTestFinished(() => client.destroy())
  const routed = vi.spyOn(client, 'sendCommand')
  const limiter = patientLimiter(fixedWindow({ limit: 100, window: '1m' }), redisStore(client, { prefix: freshPrefix() }))
  const users = Array.from({ length: 60 }, (_, i) => `user:${i}`)
  await Promise.all(users.map((user) => limiter.hit(user)))
  routed.mockClear()
  const decisions = await Promise.all([...users, ...users].map((user) => limiter.hit(user)))
  expect(decisions.map(({ remaining }) => remaining)).toEqual([...users.map(() => 98), ...users.map(() => 97)])
  expect(routed).not.toHaveBeenCalled()
})
