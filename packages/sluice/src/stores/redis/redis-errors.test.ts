import { expect, test } from 'vitest'
import { MOVED } from '../../engines/scripted.ts'
import { sortedError } from '../../engines/store-errors.ts'
import { SluiceError } from '../../index.ts'
import { askedNode, failedAnswer, isMoved, isNoScript, needsSeparateSlots, redisErrorKind } from './redis-errors.ts'

const storeError = (error: unknown): SluiceError => sortedError(error, redisErrorKind, 'unknown')

const inScript = ' script: 5a4ad5e8f1ba4c4a5d3a2a8d5e3ad2f5a7a1b1c1, on @user_script:1.'

/** Real messages of servers and proxies that forbid undeclared keys, or keys of several slots in a script. */
const SEPARATED = [
  `ERR Script attempted to access keys that do not hash to the same slot${inScript}`,
  "CROSSSLOT Keys in request don't hash to the same slot",
  'ERR script tried accessing undeclared key, key: sluice:1:{ada}:fixed-window:five',
  'ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array',
  "ERR eval/evalsha number of keys can't be negative or zero in redis cluster mode",
] as const

/** Real messages of one call in a script about a key that its node does not have. */
const NOT_HERE = [
  'ERR Script attempted to access a non local key in a cluster node (sluice:1:{ada}:fixed-window:five)',
  'ERR Lua script attempted to access a non local key in a cluster node (sluice:1:{ada}:fixed-window:five)',
  'Lua script attempted to access a non local key in a cluster node (sluice:1:{ada}:fixed-window:five)',
  'MOVED 12706 127.0.0.1:27112 (sluice:1:{ada}:fixed-window:five)',
  'ASK 449 127.0.0.1:27112 (sluice:1:{ada}:fixed-window:five)',
  'TRYAGAIN Multiple keys request during rehashing of slot (sluice:1:{ada}:fixed-window:five)',
] as const

/** Real messages of servers and clients, by the code that they must get. */
const SAID = {
  ERR_STORE_REFUSED: [
    'NOSCRIPT No matching script. Please use EVAL.',
    'LOADING Redis is loading the dataset in memory',
    "READONLY You can't write against a read only replica.",
    `READONLY You can't write against a read only replica.${inScript}`,
    'MOVED 12706 127.0.0.1:27112',
    'ASK 449 127.0.0.1:27112',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'CLUSTERDOWN Hash slot not served',
    `ERR Script attempted to execute a command while the cluster is down${inScript}`,
    `ERR Script attempted to execute a write command while the cluster is down and readonly${inScript}`,
    'Too many Cluster redirections',
    'Cannot find node 127.0.0.1:27112',
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    'NOREPLICAS Not enough good replicas to write.',
    `OOM command not allowed when used memory > 'maxmemory'.${inScript}`,
    'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.',
    'connect ECONNREFUSED 127.0.0.1:6379',
    'getaddrinfo ENOTFOUND redis.internal',
    'getaddrinfo EAI_AGAIN redis.internal',
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Cluster isn't ready and enableOfflineQueue options is false",
    'Failed to refresh slots cache.',
    'None of startup nodes is available',
    'The client is closed',
    'The client is offline',
    'The queue is full',
    'All the root nodes are unavailable',
    'Timeout waiting for a client after 3000ms',
    'Unable to execute requests; the client is closed. Please create a new client.',
  ],
  ERR_STORE_UNKNOWN: [
    'REPEATED this command was sent before, and its answer was lost',
    'read ECONNRESET',
    'write EPIPE',
    'Connection is closed.',
    'Command timed out',
    'Command aborted due to connection close',
    'Reached the max retries per request limit (which is 20). Refer to "maxRetriesPerRequest" option for details.',
    'Too many Cluster redirections. Last error: Error: Connection is closed.',
    'Too many Cluster redirections. Last error: Error: CLUSTERDOWN Hash slot not served',
    'Socket closed unexpectedly',
    'Disconnects client',
    'timed out',
    'Received connection error `Connection reset by peer (os error 104)`. Will attempt to reconnect',
    'Protocol error, got "H" as reply type byte',
    'ERR Error running script (call to f_5a4a): @user_script:1: user_script:1: Script killed by user with SCRIPT KILL...',
    '',
    'something nobody has seen before',
  ],
  ERR_STORE_FATAL: [
    "NOPERM this user has no permissions to run the 'evalsha' command",
    `ERR The user executing the script can't run this command or subcommand${inScript}`,
    'NOAUTH Authentication required.',
    'WRONGPASS invalid username-password pair or user is disabled.',
    'WRONGTYPE Operation against a key holding the wrong kind of value (sluice:1:{ada}:fixed-window:five)',
    'WRONGTYPE: Operation against a key holding the wrong kind of value',
    "CROSSSLOT Keys in request don't hash to the same slot",
    ...SEPARATED,
    "ERR unknown command 'EVALSHA', with args beginning with: ",
    'ERR Error compiling script (new function): user_script:1: unexpected symbol near <eof>',
    'sluice: this value is not a state of its rule: reset() removes it (sluice:1:{ada}:fixed-window:five)',
  ],
} as const

for (const [code, messages] of Object.entries(SAID)) {
  test.each(messages.map((message) => [message]))(`${code}: %s`, (message) => {
    const cause = new Error(message)
    const error = storeError(cause)
    expect(error).toBeInstanceOf(SluiceError)
    expect(error).toMatchObject({ code, cause, transient: code !== 'ERR_STORE_FATAL' })
    expect(error.message).toContain(message)
  })
}

test('an error of several addresses has only a code', () => {
  const error = Object.assign(new AggregateError([], ''), { code: 'ECONNREFUSED' })
  expect(storeError(error)).toMatchObject({
    code: 'ERR_STORE_REFUSED',
    message: expect.stringContaining('ECONNREFUSED'),
  })
})

test('a text instead of an error is sorted as its message', () => {
  expect(redisErrorKind('LOADING Redis is loading the dataset in memory')).toBe('refused')
})

test('an error that is already sorted stays the same', () => {
  const error = new SluiceError('ERR_STORE_REFUSED', 'the client is not connected to Redis')
  expect(storeError(error)).toBe(error)
})

test('only a missing script is a missing script', () => {
  expect(isNoScript(new Error('NOSCRIPT No matching script. Please use EVAL.'))).toBe(true)
  expect(isNoScript(new Error('ERR NOSCRIPT'))).toBe(false)
  expect(isNoScript(undefined)).toBe(false)
})

test.each(NOT_HERE)('the states of a call have moved: %s', (message) => {
  expect(failedAnswer(new Error(message))).toBe(MOVED)
  expect(needsSeparateSlots(new Error(message))).toBe(false)
})

test.each(SEPARATED)('each slot needs a command of its own: %s', (message) => {
  expect(needsSeparateSlots(new Error(message))).toBe(true)
  expect(failedAnswer(new Error(message))).toMatchObject({ code: 'ERR_STORE_FATAL' })
})

test.each(NOT_HERE)('a call that was written partly has not moved: %s', (message) => {
  expect(failedAnswer(new Error(`PARTLY ${message}`))).toMatchObject({ code: 'ERR_STORE_UNKNOWN' })
})

test('a redirection says where to', () => {
  expect(askedNode(new Error('ASK 449 127.0.0.1:27112'))).toBe('127.0.0.1:27112')
  expect(askedNode(new Error('MOVED 449 127.0.0.1:27112'))).toBeUndefined()
  expect(isMoved(new Error('MOVED 449 127.0.0.1:27112'))).toBe(true)
  expect(isMoved(new Error('ASK 449 127.0.0.1:27112'))).toBe(false)
})
