import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { writingOnce } from './ioredis-once.ts'
import type { IoredisClient } from './redis-client.ts'

function idleClient(options: object = {}): Redis {
  const client = new Redis({ lazyConnect: true, ...options })
  onTestFinished(() => client.disconnect())
  return client
}

describe('a client of ioredis that writes commands once', () => {
  test('sends nothing when it is looked at', () => {
    const client = idleClient()
    expect(writingOnce(client)).toBeDefined()
    expect(client.status).toBe('wait')
  })

  test('adds the prefix of the client to keys', async () => {
    const client = idleClient({ keyPrefix: 'app:' })
    const texts: unknown[] = []
    client.sendCommand = async (command) => texts.push(command.toWritable({}))
    await writingOnce(client)?.call('evalsha', 'sha', '1', 'key', 'argument')
    expect(texts).toEqual(['*5\r\n$7\r\nevalsha\r\n$3\r\nsha\r\n$1\r\n1\r\n$7\r\napp:key\r\n$8\r\nargument\r\n'])
  })

  test.each([
    ['ASCII', ['sha', '2', 'sluice:1:{ada}:a', '', 'x\r\ny']],
    ['letters of two bytes', ['sha', '1', 'sluice:1:{z\u00e9}:a']],
    ['letters of four bytes, beside others', ['sha', '1', 'sluice:1:{\u{1F600}}:a', '1', '\u20ac']],
    ['bytes', ['sha', '1', Buffer.from([0xff, 0x0a]), 'a']],
  ])('gives the bytes that the client would write: %s', async (_, args) => {
    const client = idleClient()
    const texts: (string | Buffer)[] = []
    client.sendCommand = async (command) => texts.push(command.toWritable({}))
    await writingOnce(client)?.call('evalsha', ...(args as string[]))
    await client.call('evalsha', ...args)
    const [ours, theirs] = texts.map((text) => Buffer.from(text as string).toString('latin1'))
    expect(ours).toBe(theirs)
  })

  test('gives the text once, then fails the command and gives a PING', async () => {
    const client = idleClient()
    const texts: unknown[] = []
    client.sendCommand = (command) => {
      texts.push(command.toWritable({}), command.toWritable({}), command.toWritable({}))
      return command.promise
    }
    await expect(writingOnce(client)?.call('get', 'ada')).rejects.toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
    expect(texts).toEqual(['*2\r\n$3\r\nget\r\n$3\r\nada\r\n', '*1\r\n$4\r\nPING\r\n', '*1\r\n$4\r\nPING\r\n'])
  })

  test('leaves commands of the application alone', () => {
    const client = idleClient()
    writingOnce(client)
    expect(Object.hasOwn(client, 'sendCommand')).toBe(false)
  })

  test('does not exist for clients with pipelines of their own, or that make no commands', () => {
    expect(writingOnce(idleClient({ enableAutoPipelining: true }))).toBeUndefined()
    const stranger: IoredisClient = { call: async () => 'PONG', options: {}, status: 'ready' }
    expect(writingOnce(stranger)).toBeUndefined()
    const refusing = { ...stranger, call: () => Promise.reject(new Error('no')), sendCommand: async () => undefined }
    expect(writingOnce(refusing)).toBeUndefined()
  })
})
