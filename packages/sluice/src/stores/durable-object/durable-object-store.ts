// The store on Durable Objects: the scripted engine, whose script is the class SluiceObject. Each object is a part of the store.

import type { Clock } from '../../core/clock.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Store } from '../../core/store.ts'
import { isWhole } from '../../core/whole-numbers.ts'
import { scriptedStore } from '../../engines/scripted.ts'
import { ServerChoice } from '../../engines/server-choice.ts'
import { messageOf, sortedError } from '../../engines/store-errors.ts'
import { checkedClock } from '../../engines/system-clock.ts'
import { callsMessage, describeRules, MOST_CALLS, type ObjectRules, readAnswers, readCount, taskMessage } from './message.ts'
import { checkNamespace, type ObjectNamespace, type ObjectStub } from './object-namespace.ts'

export interface DurableObjectStoreOptions {
  /** Number of objects that the keys are spread over. Default: 1. */
  readonly shards?: number
  /** Start of the objects' names. Stores with the same namespace and name share their states. Default: `sluice`. */
  readonly name?: string
  /** The region in which a new object is placed, such as `weur`, as a hint to Cloudflare. Default: near the first Worker that asks. */
  readonly locationHint?: string
  /** Times deadlines in this Worker. Only for tests. Rules use the clocks of the objects. */
  readonly clock?: Clock
}

export interface DurableObjectStore extends Store<'async'> {}

const OPTIONS = ['shards', 'name', 'locationHint', 'clock'] as const

/** A Worker may send so many requests for one of its own, which `size` and `clean` need. */
const MOST_SHARDS = 1000

/** The most calls in one message. More take longer than a message costs. */
const CALLS_A_MESSAGE = MOST_CALLS

/** The address of a message. Objects do not read it. */
const ADDRESS = 'https://sluice.invalid/'

/** Makes a store in Durable Objects of the class `SluiceObject`. `namespace` is a binding to them, such as `env.SLUICE`. */
export function durableObjectStore(namespace: ObjectNamespace, options: DurableObjectStoreOptions = {}): DurableObjectStore {
  checkNamespace(namespace)
  checkOptions('durableObjectStore', options, OPTIONS)
  const { shards = 1, name = 'sluice', locationHint, clock } = options
  if (!isWhole(shards, 1, MOST_SHARDS)) throw wrong('shards', `a whole number from 1 to ${MOST_SHARDS}`, shards)
  if (typeof name !== 'string' || name.length === 0 || name.length > 256)
    throw wrong('name', 'a string of 1 to 256 characters', name)
  if (locationHint !== undefined && (typeof locationHint !== 'string' || locationHint.length === 0)) {
    throw wrong('locationHint', 'the name of a region', locationHint)
  }
  const checked = clock === undefined ? undefined : checkedClock(clock)
  const hint = locationHint === undefined ? undefined : { locationHint }

  const choice = new ServerChoice(Array.from({ length: shards }, (_, shard) => String(shard)))
  const send = async <V>(shard: string, message: string, read: (status: number, text: string) => V): Promise<V> => {
    const response = await stubOf(`${name}:${shard}`).fetch(ADDRESS, { method: 'POST', body: message })
    return read(response.status, await response.text())
  }

  /** A stub belongs to the request in which it was made, so each message has a new one. */
  function stubOf(objectName: string): ObjectStub {
    try {
      return namespace.get(namespace.idFromName(objectName), hint)
    } catch (error) {
      throw new SluiceError('ERR_STORE_FATAL', `no Durable Object could be named: ${messageOf(error)}`, { cause: error })
    }
  }

  const sumOverAll = async (task: 'clean' | 'size'): Promise<number> => {
    const message = taskMessage(task)
    const counts = Array.from({ length: shards }, (_, shard) => send(String(shard), message, readCount))
    const all = await Promise.all(counts).catch((error: unknown) => Promise.reject(sortedError(error, undefined, 'unknown')))
    return all.reduce((sum, count) => sum + count, 0)
  }

  return scriptedStore<ObjectRules>({
    ...(checked && { clock: checked }),
    most: CALLS_A_MESSAGE,
    describe: describeRules,
    // An error of the stub is unknown: the object may have decided before the connection was lost, or before it was reset.
    execute: (shard, calls) => send(shard || '0', callsMessage(calls), readAnswers),
    clean: () => sumOverAll('clean'),
    size: () => sumOverAll('size'),
    ...(shards > 1 && { partOf: (key: string) => String(choice.indexOf(key)) }),
  })
}

function wrong(option: string, what: string, value: unknown): SluiceError {
  return new SluiceError('ERR_OPTION', `durableObjectStore needs ${option} to be ${what}, got ${show(value)}`, { option, value })
}
