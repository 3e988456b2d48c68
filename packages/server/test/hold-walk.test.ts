// A seeded walk over HTTP: random reserves, settles, cancels, extensions, expiries, repeated ends and lost answers, against a model.
// Invariant: held and charged units are those of the model after every step. Nothing is charged twice, and nothing is lost.

import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { roundsOf } from '../../../test/rounds.ts'
import { advance, startService, type TestService } from './running-service.ts'

const LIMIT = 1000
const PLACES = 6

/** No window ends during a walk, so everything that was charged still counts. */
const POLICY = {
  client: '*',
  route: '/walk',
  rules: [
    { algorithm: 'fixed-window', limit: LIMIT, window: '1000d', name: 'tokens' },
    { algorithm: 'concurrency', limit: PLACES, ttl: '1m', name: 'places' },
  ],
}

interface ModelHold {
  readonly token: string
  readonly units: number
  readonly isCharged: boolean
  expiresAt: number
  isOpen: boolean
}

class Model {
  readonly holds: ModelHold[] = []
  charged = 0

  /** Lets holds expire whose time has come. */
  settleTime(): void {
    for (const hold of this.holds) {
      if (!hold.isOpen || hold.expiresAt > Date.now()) continue
      hold.isOpen = false
      if (hold.isCharged) this.charged += hold.units
    }
  }

  get open(): readonly ModelHold[] {
    return this.holds.filter(({ isOpen }) => isOpen)
  }

  get held(): number {
    return this.open.reduce((sum, { units }) => sum + units, 0)
  }
}

const choice = fc.nat(1000)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      units: fc.integer({ min: 1, max: 300 }),
      ttl: fc.integer({ min: 1, max: 60_000 }),
      isCharged: fc.boolean(),
      atLeast: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('settle' as const, 'lost settle' as const), choice, used: fc.nat(320) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('cancel' as const, 'extend' as const),
      choice,
      ttl: fc.integer({ min: 1, max: 60_000 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(30_000) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

class Walk {
  readonly #service: TestService
  readonly #clientId: string
  readonly #model = new Model()

  constructor(service: TestService, clientId: string) {
    this.#service = service
    this.#clientId = clientId
  }

  async take(taken: Step): Promise<void> {
    const model = this.#model
    if (taken.kind === 'wait') advance(taken.ms)
    else if (taken.kind === 'reserve') await this.#reserve(taken)
    else if (model.holds.length > 0) await this.#end(taken, model.holds[taken.choice % model.holds.length])
    model.settleTime()
    await this.#compare()
  }

  async #reserve({ units, ttl, isCharged, atLeast }: Extract<Step, { kind: 'reserve' }>): Promise<void> {
    const model = this.#model
    const expired = isCharged ? 'charge' : 'release'
    const { data } = (
      await this.#service.call('POST', '/v1/reserve', {
        client_id: this.#clientId,
        route: '/walk',
        hold: { tokens: units },
        ttl,
        expired,
        ...(atLeast && { at_least: { tokens: 1 } }),
      })
    ).body
    const left = LIMIT - model.charged - model.held
    const isAllowed = (atLeast ? left >= 1 : left >= units) && model.open.length < PLACES
    expect(data.status).toBe(isAllowed ? 'Allow' : 'Deny')
    if (!isAllowed) return
    const granted = Math.min(units, left)
    expect(data.granted).toEqual({ tokens: granted, places: 1 })
    model.holds.push({ token: data.token, units: granted, isCharged, expiresAt: Date.now() + ttl, isOpen: true })
  }

  async #end(taken: Exclude<Step, { kind: 'reserve' | 'wait' }>, hold: ModelHold): Promise<void> {
    const { token } = hold
    const how = taken.kind === 'lost settle' ? 'settle' : taken.kind
    const body = { token, ...('used' in taken ? { used: { tokens: taken.used } } : how === 'extend' && { ttl: taken.ttl }) }
    if (taken.kind === 'lost settle') await this.#sendAndLeave(`/v1/${how}`, body)
    const { status, body: answer } = await this.#service.call('POST', `/v1/${how}`, body)
    // After a lost answer the repeated settle is refused if the first one arrived before it.
    const isRefused = status === 409 && answer.meta.error === 'ERR_HOLD'
    if (taken.kind === 'lost settle' && hold.isOpen) expect(status === 200 || isRefused).toBe(true)
    else expect([status === 200, isRefused]).toEqual([hold.isOpen, !hold.isOpen])
    if (!hold.isOpen) return
    if (how === 'extend') hold.expiresAt = Date.now() + ('ttl' in taken ? taken.ttl : 0)
    else hold.isOpen = false
    if ('used' in taken) this.#model.charged += taken.used
  }

  /** Sends a request and destroys the connection. Nothing of the answer is read. */
  async #sendAndLeave(path: string, body: object): Promise<void> {
    const { hostname, port } = new URL(this.#service.address)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    await once(socket, 'connect')
    const text = JSON.stringify(body)
    const head = ['Host: x', `Api-Key: ${this.#service.key}`, 'Content-Type: application/json', `Content-Length: ${text.length}`]
    await new Promise((resolve) => socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${text}`, resolve))
    socket.destroy()
  }

  async #compare(): Promise<void> {
    const { data } = (await this.#service.call('GET', `/v1/usage?client_id=${this.#clientId}&route=/walk`)).body
    const { charged, held, open } = this.#model
    const used = data.rules.map((rule: { used: number }) => rule.used)
    expect(used).toEqual([Math.min(LIMIT, charged + held), open.length])
    expect(data.holds.open).toBe(open.length)
  }
}

test('every step leaves what the model says', async () => {
  const service = await startService()
  await service.call('PUT', '/v1/policies/walk', POLICY)
  let walks = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
      walks += 1
      const walk = new Walk(service, `walk-${walks}`)
      for (const taken of steps) await walk.take(taken)
    }),
    { numRuns: roundsOf({ usual: 8, long: 300 }) },
  )
}, 600_000)
