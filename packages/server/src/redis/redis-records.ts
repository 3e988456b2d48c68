// Policies and keys in Redis, for any number of instances: a hash for each kind, and a stream of changes that every instance
// follows, looking twice a second.
// What must stay true: a change is made only by who has seen all changes before it, so that nobody overwrites what they do not
// know; every instance hears of all changes, in their order; and one that missed some reads everything anew.

import { setTimeout as pause } from 'node:timers/promises'
import type { SendCommand } from 'sluice/redis'
import type { Change, RecordKind, Records } from '../data/records.ts'
import { messageOf, ServerError } from '../errors.ts'

/** All in one slot of a cluster. */
const POLICIES = 'sluice:{records}:policies'
const KEYS = 'sluice:{records}:keys'
const CHANGES = 'sluice:{records}:changes'
const FIRST_START = 'sluice:{records}:first-start'

const KINDS: readonly RecordKind[] = ['policy', 'key']

const LOOK_EVERY_MS = 500

/** How long Redis may take. */
const DEADLINE_MS = 2000

/** Changes that stay in the stream: who missed more reads everything. */
const KEPT_CHANGES = 1000

/** Tries of a commit that others' changes of another kind came before. */
const TRIES = 10

/** How long the one instance that makes the first key has for it. */
const FIRST_START_MS = 10_000

/** The number of the last change is the first part of the stream's last id; 0 if there has been none. */
const LAST = `
local last = 0
local newest = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)
if newest[1] then last = tonumber(string.match(newest[1][1], '^%d+')) end
`

/** ARGV: the last change seen, how many to keep, then kind ('1' policy, '2' key), id, value ('' to delete) of each change. */
const COMMIT = `${LAST}
if last ~= tonumber(ARGV[1]) then return -1 end
for i = 3, #ARGV, 3 do
  local kind, id, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if value == '' then redis.call('HDEL', KEYS[tonumber(kind)], id) else redis.call('HSET', KEYS[tonumber(kind)], id, value) end
  last = last + 1
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[2], string.format('%.0f-0', last), 'kind', kind, 'id', id, 'value', value)
end
return last`

/** Everything there is, and the change that it includes last. */
const LOAD = `${LAST}
return { last, redis.call('HGETALL', KEYS[1]), redis.call('HGETALL', KEYS[2]) }`

/** ARGV: the last change seen. → the last there is, and those in between. */
const FOLLOW = `${LAST}
if last == tonumber(ARGV[1]) then return { last, {} } end
return { last, redis.call('XRANGE', KEYS[3], '(' .. ARGV[1] .. '-0', '+') }`

type Flat = readonly string[]
type Refusal = () => ServerError | undefined
type Entry = readonly [id: string, fields: Flat]

export interface RedisRecordsOptions {
  readonly send: SendCommand
  /** Hears after each look whether Redis answered, and if not, why. */
  readonly onLook?: (error: ServerError | undefined) => void
  /** Hears that something has changed, whoever did it. */
  readonly onChange?: () => void
}

export class RedisRecords implements Records {
  readonly #send: SendCommand
  readonly #onLook: (error: ServerError | undefined) => void
  readonly #onChange: () => void
  readonly #tables: Readonly<Record<RecordKind, Map<string, unknown>>> = { policy: new Map(), key: new Map() }
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #closing = new AbortController()
  /** The last change seen; −1 until everything has been read once. */
  #seen = -1
  /** One thing at a time: looking and committing both move `#seen`. */
  #turn: Promise<unknown> = Promise.resolve()
  /** How often a commit has failed, and why the last time: those that were asked for before that fail with it. */
  #failures = 0
  #failure: unknown

  constructor({ send, onLook = () => {}, onChange = () => {} }: RedisRecordsOptions) {
    this.#send = send
    this.#onLook = onLook
    this.#onChange = onChange
  }

  /** Whether everything has been read once. */
  get isRead(): boolean {
    return this.#seen >= 0
  }

  /** Takes what is said to be there, until Redis itself has been read. */
  assume(records: readonly Change[]): void {
    if (this.isRead) return
    for (const record of records) this.#tell(record)
  }

  /** Looks for changes until it is closed; resolves when everything has been read once. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#follow(resolve)
    })
  }

  all(kind: RecordKind): ReadonlyMap<string, unknown> {
    return this.#tables[kind]
  }

  watch(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  commit(changes: readonly Change[], refusal?: Refusal): Promise<void> {
    const failures = this.#failures
    return this.#inTurn(async () => {
      if (this.#failures !== failures) throw this.#failure
      let refused: ServerError | undefined
      try {
        refused = await this.#commit(changes, refusal)
      } catch (error) {
        this.#failures += 1
        this.#failure = error
        throw error
      }
      if (refused !== undefined) throw refused
    })
  }

  /** Looks for changes of others now. */
  look(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#catchUp()
    })
  }

  /** Whether this instance, of all that start at once on an empty Redis, is the one to make the first key. */
  async isFirst(): Promise<boolean> {
    return (await this.#ask(['SET', FIRST_START, '1', 'NX', 'PX', String(FIRST_START_MS)])) === 'OK'
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#turn
  }

  async #follow(onFirst: () => void): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.look()
        onFirst()
        this.#onLook(undefined)
      } catch (error) {
        this.#onLook(error as ServerError)
      }
      await pause(LOOK_EVERY_MS, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  /** → why it was refused, if it was. */
  async #commit(changes: readonly Change[], refusal: Refusal = () => undefined): Promise<ServerError | undefined> {
    const kinds = new Set(changes.map(({ kind }) => kind))
    const written = changes.flatMap(({ kind, id, value }) => [
      numberOf(kind),
      id,
      value === undefined ? '' : JSON.stringify(value),
    ])
    for (let tries = 0; tries < TRIES; tries++) {
      if (!this.isRead) await this.#catchUp()
      // Asked about what is known as of `#seen`. If there are changes beyond it, nothing is written.
      const refused = refusal()
      if (refused !== undefined) return refused
      const last = (await this.#run(COMMIT, String(this.#seen), String(KEPT_CHANGES), ...written)) as number
      if (last >= 0) {
        this.#seen = last
        for (const change of changes) this.#keep(change)
        return undefined
      }
      const missed = await this.#catchUp()
      // What was asked for was held against what is no longer so.
      if (missed.some(({ kind }) => kinds.has(kind))) break
    }
    throw new ServerError('ERR_CONFLICT', 'another instance made a change at the same moment: look at it and try again')
  }

  /** Takes over what others have changed; → their changes. */
  async #catchUp(): Promise<readonly Change[]> {
    if (!this.isRead) return this.#load()
    const [last, entries] = (await this.#run(FOLLOW, String(this.#seen))) as [number, readonly Entry[]]
    if (last === this.#seen) return []
    // The stream is shorter than what was missed, or Redis lost what it had.
    if (entries.length !== last - this.#seen) return this.#load()
    const changes = entries.map(([, fields]) => changeOf(fields))
    this.#seen = last
    for (const change of changes) this.#tell(change)
    return changes
  }

  async #load(): Promise<readonly Change[]> {
    const [last, ...hashes] = (await this.#run(LOAD)) as [number, Flat, Flat]
    const changes = KINDS.flatMap((kind, i) => differences(kind, this.#tables[kind], hashes[i]))
    this.#seen = last
    for (const change of changes) this.#tell(change)
    return changes
  }

  #keep({ kind, id, value }: Change): void {
    if (value === undefined) this.#tables[kind].delete(id)
    else this.#tables[kind].set(id, value)
    this.#onChange()
  }

  #tell(change: Change): void {
    this.#keep(change)
    for (const listener of this.#listeners) listener(change)
  }

  #run(program: string, ...args: string[]): Promise<unknown> {
    return this.#ask(['EVAL', program, '3', POLICIES, KEYS, CHANGES, ...args])
  }

  async #ask(command: readonly string[]): Promise<unknown> {
    const deadline = new AbortController()
    const late = pause(DEADLINE_MS, undefined, { ref: false, signal: deadline.signal }).then(
      () => Promise.reject(new Error(`no answer within ${DEADLINE_MS} ms, so a change may have been made`)),
      () => {},
    )
    try {
      return await Promise.race([this.#send(POLICIES, command), late])
    } catch (error) {
      throw new ServerError('ERR_DATA_WRITE', `Redis could not be asked: ${messageOf(error)}`, { cause: error })
    } finally {
      deadline.abort()
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }
}

/** As the programs number the hashes. */
function numberOf(kind: RecordKind): string {
  return String(KINDS.indexOf(kind) + 1)
}

function changeOf([, kind, , id, , value]: Flat): Change {
  return { kind: KINDS[Number(kind) - 1], id, value: value === '' ? undefined : JSON.parse(value) }
}

/** What has to change so that `table` is as the hash is. */
function differences(kind: RecordKind, table: ReadonlyMap<string, unknown>, hash: Flat): Change[] {
  const changes: Change[] = []
  const ids = new Set<string>()
  for (let i = 0; i < hash.length; i += 2) {
    ids.add(hash[i])
    const value: unknown = JSON.parse(hash[i + 1])
    if (JSON.stringify(table.get(hash[i])) !== JSON.stringify(value)) changes.push({ kind, id: hash[i], value })
  }
  const gone = [...table.keys()].filter((id) => !ids.has(id))
  return [...gone.map((id) => ({ kind, id, value: undefined })), ...changes]
}
