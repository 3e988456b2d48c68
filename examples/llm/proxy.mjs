// The handler of a proxy before an LLM API. One decision counts the request of a user, and holds tokens, money and a place of the
// user's organisation. When the answer has ended, what it used is charged, and the rest is free again.

/** @import { Store } from 'sluice' */

import { concurrency, fixedWindow } from 'sluice'
import { fetchLimiter } from 'sluice/fetch'
import { openaiStyle } from 'sluice/http'
import { reserving } from 'sluice/reserving'
import { openaiUsage } from 'sluice/streams'

/** Prices in millionths of a dollar. */
const PRICE = { inputToken: 2, outputToken: 8 }

/**
 * @typedef {object} Limits
 * @property {number} requests of a user, in a minute
 * @property {number} tokens of an organisation, in a day
 * @property {number} microdollars of an organisation, in a day
 * @property {number} streams of an organisation, at once
 * @property {import('sluice').Duration} ttl time after which the units of a proxy that has crashed are no longer held
 */

/** @param {Limits} limits */
export const rulesOf = ({ requests, tokens, microdollars, streams, ttl }) => [
  fixedWindow({ limit: requests, window: '1m', per: 'user', name: 'requests' }),
  fixedWindow({ limit: tokens, window: '1d', per: 'org', name: 'tokens' }),
  fixedWindow({ limit: microdollars, window: '1d', per: 'org', name: 'microdollars' }),
  concurrency({ limit: streams, ttl, per: 'org', name: 'streams' }),
]

/**
 * Returns the handler.
 * @param {{ upstream: string, limits: Limits, store?: Store }} options
 */
export function llmProxy({ upstream, limits, store }) {
  const limit = fetchLimiter({
    rules: rulesOf(limits),
    ...(store && { store }),
    // The client libraries of OpenAI read these fields, and wait as they say.
    headers: ['draft-11', openaiStyle],
    key: ({ headers }) => ({ org: headers.get('x-org') ?? '', user: headers.get('x-user') ?? '' }),
    reserve: reserving({
      hold: async (/** @type {Request} */ request) => unitsOf(mostTokens(await readQuestion(request.clone()))),
      count: () => openaiUsage({ units: unitsOf }),
      // A question that the API refused is free. An answer that broke off has reported nothing, and costs all that was held. So does
      // one whose client hung up before it began: the API may bill it all the same.
      used: ({ request, status, counted }) => (status >= 400 && !request.signal.aborted ? 0 : counted),
    }),
  })
  const limited = limit(async (/** @type {Request} */ request) => {
    const { model, messages, max_tokens } = await readQuestion(request)
    // Nothing else is passed on: `n` and `tools`, for example, would cost tokens that are not held.
    const body = JSON.stringify({ model, messages, max_tokens, stream: true, stream_options: { include_usage: true } })
    const { status, headers, body: answer } = await fetch(upstream, { method: 'POST', body, signal: request.signal })
    return new Response(answer, { status, headers: { 'Content-Type': headers.get('content-type') ?? 'text/plain' } })
  })
  return async (/** @type {Request} */ request) => {
    if (!request.headers.get('x-org') || !request.headers.get('x-user')) return new Response('who are you?\n', { status: 401 })
    try {
      return await limited(request)
    } catch (error) {
      return new Response(error instanceof SyntaxError ? 'not a question\n' : 'bad gateway\n', {
        status: error instanceof SyntaxError ? 400 : 502,
      })
    }
  }
}

/**
 * Reads a question. Throws a SyntaxError if it is none.
 * @param {Request} request
 * @returns {Promise<{ model?: string, messages: { content: string }[], max_tokens: number }>}
 */
async function readQuestion(request) {
  const question = await request.json()
  const isQuestion = Array.isArray(question?.messages) && Number.isSafeInteger(question.max_tokens) && question.max_tokens > 0
  if (!isQuestion) throw new SyntaxError('messages and max_tokens are needed')
  return question
}

/**
 * The most tokens that an answer can use. A token has at least one byte.
 * @param {{ messages: object[], max_tokens: number }} question
 */
function mostTokens({ messages, max_tokens }) {
  return { inputTokens: new TextEncoder().encode(JSON.stringify(messages)).length, outputTokens: max_tokens }
}

/** @param {{ inputTokens: number, outputTokens: number }} usage */
function unitsOf({ inputTokens, outputTokens }) {
  return {
    tokens: inputTokens + outputTokens,
    microdollars: inputTokens * PRICE.inputToken + outputTokens * PRICE.outputToken,
  }
}
