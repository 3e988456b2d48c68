import { describe, expect, test } from 'vitest'
import type { Options } from '../../../test/middleware/limited-handler.ts'
import { parseRule } from '../../algorithms/parse-rule.ts'
import { createLimiter } from '../../create-limiter.ts'
import { legacyStyle } from '../../http/earlier-styles.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import { fetchLimiter } from '../fetch.ts'
import { rulesByRequest } from '../requests.ts'

const rules = parseRule('5/minute')
const limiter = createLimiter({ rules })

describe('options that cannot work are refused when the middleware is made', () => {
  test.each([
    ['nothing to count by', {}, 'rules', 'fetchLimiter needs either limiter or rules, and has neither'],
    ['both', { rules, limiter }, 'rules', 'fetchLimiter needs either limiter or rules, and has both'],
    ['a limiter that is none', { limiter: 5 }, 'limiter', 'fetchLimiter needs limiter to be what createLimiter() makes, got 5'],
    ['a store for a limiter', { limiter, store: memoryStore() }, 'limiter', 'takes store, failure and retryWithinMs for rules'],
    ['failure for a limiter', { limiter, failure: {} }, 'limiter', 'takes store, failure and retryWithinMs for rules'],
    ['retryWithinMs for a limiter', { limiter, retryWithinMs: 0 }, 'limiter', 'takes store, failure and retryWithinMs for rules'],
    ['a negative retryWithinMs', { rules, retryWithinMs: -1 }, 'retryWithinMs', 'retryWithinMs must be a whole number'],
    ['options of hints instead of hints', { rules, headers: [legacyStyle, { shouldRetry: true }] }, 'headers', 'headers must be'],
    [
      'an unknown option',
      { rules, onDenid: () => {} },
      'onDenid',
      'has no option "onDenid": there is key, skip, onDecision, onDenied',
    ],
    ['a key that is no function', { rules, key: 'ip' }, 'key', 'fetchLimiter needs key to be a function, got "ip"'],
    ['a cost of a half', { rules, cost: 0.5 }, 'cost', 'cost must be a whole number of at least 1'],
    ['half a cost by rule', { rules, cost: { a: 0.5 } }, 'a', 'the cost of "a" must be a whole number of at least 0'],
    [
      'a cost that is a text',
      { rules, cost: '2' },
      'cost',
      'needs cost to be a whole number, an object by rule name, or a function',
    ],
    [
      'a cost that is a list',
      { rules, cost: [1] },
      'cost',
      'needs cost to be a whole number, an object by rule name, or a function',
    ],
    [
      'a list of costs, for plans',
      { rules: rulesByRequest(() => rules), cost: [1] },
      'cost',
      'needs cost to be a whole number, an object',
    ],
    [
      'an object of a class as cost, for plans',
      { rules: rulesByRequest(() => rules), cost: new Date() },
      'cost',
      'cost must be a plain object of costs by rule name',
    ],
    [
      'a cost of a rule that does not exist',
      { rules, cost: { zz: 1 } },
      'zz',
      'cost names no rule of the limiter: "zz"; there is "fixed-window:5/1m"',
    ],
    ['the same with a limiter', { limiter, cost: { zz: 1 } }, 'zz', 'cost names no rule of the limiter: "zz"'],
    ['a cost of 0 for every rule', { rules, cost: { [rules.name]: 0 } }, 'cost', 'cost must be at least 1 for one of the rules'],
    [
      'a cost above the limit',
      { rules, cost: 6 },
      'cost',
      'fetchLimiter denies every request: the cost 6 is above 5, the limit of',
    ],
    ['a cost above one limit', { rules, cost: { [rules.name]: 6 } }, rules.name, 'the cost 6 is above 5'],
    ['an unknown mode', { rules, mode: 'dry' }, 'mode', 'fetchLimiter needs mode to be enforce or shadow, got "dry"'],
    [
      'a charge of 0.1',
      { rules, charge: 'failed-response' },
      'charge',
      'needs charge to be what chargeByResponse() of sluice/requests makes, got "failed-response"',
    ],
    [
      'a function for rules',
      { rules: () => rules },
      'rules',
      'needs rules to be rules, or what rulesByRequest() of sluice/requests makes, got a function',
    ],
    ['a shadow without a listener', { rules, mode: 'shadow' }, 'onShadowDenied', "needs onShadowDenied in mode 'shadow'"],
    ['unknown headers', { rules, headers: 'draft-9' }, 'headers', 'headers must be'],
    ['unknown headers, for plans', { rules: rulesByRequest(() => rules), headers: 'draft-9' }, 'headers', 'headers must be'],
    [
      'a list that is an object',
      { rules, block: { keys: ['x'] } },
      'block',
      'block to be what clientList() of sluice/http makes',
    ],
    ['a list that is null', { rules, allow: null }, 'allow', 'allow to be what clientList() of sluice/http makes, got null'],
    [
      'an address that is an object',
      { rules, address: { trustProxy: 1 } },
      'address',
      'what clientAddress() of sluice/http makes',
    ],
    ['a peer that is no function', { rules, peer: 'x' }, 'peer', 'fetchLimiter needs peer to be a function, got "x"'],
    ['notation', { rules: '5/minute' }, 'rules', 'parseRule() or others, got "5/minute"'],
  ])('%s', (_, options, option, message) => {
    expect(() => fetchLimiter(options as Options)).toThrow(
      expect.objectContaining({
        code: expect.stringMatching(/^ERR_(OPTION|COST|RULE_NAME)$/),
        option,
        message: expect.stringContaining(message),
      }),
    )
  })

  test('a cost that some request can pay is accepted: the whole limit, and a name that only some plans have', () => {
    expect(() => fetchLimiter({ rules, cost: 5 })).not.toThrow()
    expect(() => fetchLimiter({ rules: rulesByRequest(() => rules), cost: { other: 1 } })).not.toThrow()
  })

  test.each([undefined, null, [], 'x'])('%j instead of options', (options) => {
    expect(() => fetchLimiter(options as never)).toThrow('fetchLimiter takes an object of options')
  })
})
