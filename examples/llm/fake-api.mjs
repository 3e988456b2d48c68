// A small server that speaks like OpenAI's chat completions, and bills every token that it makes, also for clients that hang up.
// A prompt may say what to do: `tokens=20 everyMs=5 breakAfter=7`.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** Tokens of a text, as this model counts them. A token of a real model has at least one byte, so this is the most there can be. */
const tokensOf = (/** @type {string} */ text) => Buffer.byteLength(text)

/** Starts the server. `bill()` returns the tokens that it has made so far. */
export async function startFakeApi() {
  const billed = { inputTokens: 0, outputTokens: 0 }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { messages, max_tokens: most } = JSON.parse(text)
    const prompt = messages.map((/** @type {{ content: string }} */ { content }) => content).join('\n')
    const told = (/** @type {string} */ name) => Number(new RegExp(`${name}=(\\d+)`).exec(prompt)?.[1] ?? Number.NaN)
    const wanted = Math.min(told('tokens') || 10, most)
    const usage = { prompt_tokens: tokensOf(prompt), completion_tokens: 0 }
    billed.inputTokens += usage.prompt_tokens
    const send = (/** @type {object | string} */ data) =>
      response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    while (usage.completion_tokens < wanted) {
      if (response.destroyed) return
      if (usage.completion_tokens === told('breakAfter')) return void response.destroy()
      usage.completion_tokens += 1
      billed.outputTokens += 1
      send({ choices: [{ index: 0, delta: { content: `wörd${usage.completion_tokens} ` } }], usage: null })
      await pause(told('everyMs') || 1)
    }
    send({ choices: [], usage })
    send('[DONE]')
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}/v1/chat/completions`,
    bill: () => ({ ...billed }),
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
