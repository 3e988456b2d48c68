// Rules that depend on the request: plans.

import { mustBe } from '../../core/errors.ts'
import type { Rule } from '../../core/rule.ts'
import type { Rules, RulesByRequest } from '../gate/by-request.ts'
import { andThen, type MaybePromise } from '../gate/maybe-promise.ts'
import type { RequestContext } from '../gate/request-context.ts'
import { LimiterCache } from './limiter-cache.ts'

/**
 * Lets each request have rules of its own: `rules: rulesByRequest((request) => plans[planOf(request)])`. The compiler does not know the
 * framework here: name the type of `request` to have it checked.
 */
// biome-ignore lint/suspicious/noExplicitAny: without a named type, the callback takes the request of any framework.
export function rulesByRequest<R = any, T extends Rule = Rule>(
  choose: (request: R, context: RequestContext<R>) => MaybePromise<Rules<T>>,
): RulesByRequest<R, T> {
  if (typeof choose !== 'function') throw mustBe('ERR_OPTION', 'rules', 'a function from a request to its rules', choose)
  return {
    choose,
    limiters: (make) => {
      const cache = new LimiterCache(make)
      return (context) => andThen(choose(context.request, context), (rules) => cache.obtain(rules))
    },
  }
}
