// Messages to a Durable Object in workerd: any Worker with a binding can send one, so everything is checked.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { whyNoWorkerd } from '../../../../test/servers/workerd-server.mjs'
import type { RuleSpec } from '../../src/algorithms/catalogue.ts'
import { fixedWindow } from '../../src/algorithms/fixed-window/fixed-window.ts'
import { slidingWindow } from '../../src/algorithms/sliding-window/sliding-window.ts'
import { nameOfState } from '../../src/engines/state-names.ts'
import { describeRules } from '../../src/stores/durable-object/message.ts'
import { allowedIn, Front, freshName, HOUR_MS, hundred } from './front.ts'

const whyNot = whyNoWorkerd()

describe(`messages to Durable Objects${whyNot && `, skipped: ${whyNot}`}`, { skip: whyNot !== '' }, () => {
  const front = new Front()
  beforeAll(() => front.start())
  afterAll(() => front.remove())
  beforeEach(() => front.setUp({ now: null, maxKeys: 1000, fault: null }))

  describe('a message', () => {
    const { set } = describeRules([fixedWindow({ limit: 100, window: '1h', name: 'hundred' })])
    const name = nameOfState(fixedWindow({ limit: 100, window: '1h', name: 'hundred' }), 'ada')
    const good = { version: 1, task: 'calls', sets: [set], calls: [['hit', 0, [name], [1]]] }
    const slidingRule = slidingWindow({ limit: 5, window: '1h' })
    const sliding = { set: describeRules([slidingRule]).set, most: slidingRule.mostUsed }
    const withCall = (...call: unknown[]) => ({ ...good, calls: [call] })

    test('is answered', async () => {
      const { status, text } = await front.object({ object: freshName(), body: JSON.stringify(good) })
      expect({ status, text }).toEqual({ status: 200, text: `{"version":1,"answers":[[1,0,${HOUR_MS}]]}` })
    })

    test('of another version is refused, and the error says so', async () => {
      for (const version of [2, 0, '1', undefined]) {
        const { status, text } = await front.object({ object: freshName(), body: JSON.stringify({ ...good, version }) })
        expect(status).toBe(503)
        expect(JSON.parse(text as string)).toMatchObject({ version: 1, error: { code: 'ERR_STORE_REFUSED' } })
        expect(text).toContain('deploy both with the same version of sluice')
      }
    })

    test.each<[string, unknown]>([
      ['an unknown task', { ...good, task: 'drop' }],
      ['a set that is no text', { ...good, sets: [[['fixed-window', {}]]] }],
      ['a set that is no JSON', { ...good, sets: ['['] }],
      ['a long set', { ...good, sets: [set + ' '.repeat(32_768)] }],
      ['an empty set', { ...good, sets: ['[]'] }],
      ['65 rules', { ...good, sets: [JSON.stringify(Array(65).fill(JSON.parse(set)[0]))] }],
      ['an unknown algorithm', { ...good, sets: ['[["__proto__",{}]]'] }],
      ['a wrong parameter', { ...good, sets: [set.replace('100', '-1')] }],
      ['another parameter', { ...good, sets: [set.replace('"limit"', '"x":1,"limit"')] }],
      ['a log that is too long', { ...good, sets: ['[["sliding-log",{"limit":100001,"windowMs":1000}]]'] }],
      ['257 calls', { ...good, calls: Array(257).fill(good.calls[0]) }],
      ['calls that are no list', { ...good, calls: { length: 1 } }],
      ['a call that is no list', withCall('hit')],
      ['an unknown operation', withCall('toString', 0, [name], [1])],
      ['an unknown set', withCall('hit', 1, [name], [1])],
      ['two names for one rule', withCall('hit', 0, [name, `${name}x`], [1, 1])],
      ['no names', withCall('hit', 0, [], [])],
      ['an empty name', withCall('hit', 0, [''], [1])],
      ['a name with a space', withCall('hit', 0, ['a b'], [1])],
      ['a long name', withCall('hit', 0, ['x'.repeat(256)], [1])],
      ['a name that is no text', withCall('hit', 0, [7], [1])],
      ['a cost of 0', withCall('hit', 0, [name], [0])],
      ['a negative cost', withCall('inc', 0, [name], [-1])],
      ['a fraction', withCall('hit', 0, [name], [0.5])],
      ['a count above the most', withCall('set', 0, [name], [2 ** 53])],
      ['a count above the most of a rule', { ...good, sets: [sliding.set], calls: [['set', 0, [name], [sliding.most + 1]]] }],
      ['ends of a hit', withCall('hit', 0, [name], [1], [1])],
      ['an end that is no time', withCall('refund', 0, [name], [1], ['x'])],
      [
        'the same state twice',
        {
          ...good,
          sets: [`[${JSON.parse(set).map(JSON.stringify)},${JSON.parse(set).map(JSON.stringify)}]`],
          calls: [['hit', 0, [name, name], [1, 1]]],
        },
      ],
      ['no object', null],
      ['a list', []],
    ])('with %s is refused as fatal, and nothing is counted', async (_, body) => {
      const object = freshName()
      const { status, text } = await front.object({ object, body: JSON.stringify(body) })
      if (body === null || Array.isArray(body)) expect(status).toBe(503)
      else expect({ status, code: JSON.parse(text as string).error?.code }).toEqual({ status: 400, code: 'ERR_STORE_FATAL' })
      expect(await front.rows(object)).toBe(0)
    })

    test.each([
      ['a GET request', { method: 'GET' }],
      ['no JSON', { body: '{' }],
      ['no body', {}],
    ])('that is %s is refused as fatal', async (_, task) => {
      const { status, text } = await front.object({ object: freshName(), ...task })
      expect({ status, code: JSON.parse(text as string).error.code }).toEqual({ status: 400, code: 'ERR_STORE_FATAL' })
    })

    test('of more than 8 MiB is refused, and the largest that a store sends is not', async () => {
      const object = freshName()
      const long = await front.object({ object, body: `${JSON.stringify(good)}${' '.repeat(8 * 1024 * 1024)}` })
      expect({ status: long.status, text: long.text?.includes('8388608 bytes') }).toEqual({ status: 400, text: true })
      const rules = Array.from({ length: 64 }, (_, i): RuleSpec => ({ ...hundred, name: `rule-${i}-${'x'.repeat(200)}` }))
      await front.setUp({ maxKeys: 100_000 })
      const calls = Array.from({ length: 256 }, (_, i) => ['hit', `key-${i}`] as const)
      expect(allowedIn(await front.calls({ rules, store: { name: freshName() }, calls }))).toBe(256)
    })
  })
})
