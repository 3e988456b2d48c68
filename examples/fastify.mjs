// Fastify: a plugin, a route that costs more, and one that costs nothing. Try:
//   curl -i http://127.0.0.1:3000/
//   curl -i http://127.0.0.1:3000/report

import fastify from 'fastify'
import { tokenBucket } from 'sluice'
import { fastifyLimiter } from 'sluice/fastify'

const app = fastify()
await app.register(fastifyLimiter, { rules: tokenBucket({ capacity: 20, refill: 1, every: '1s', name: 'burst' }) })

app.get('/', () => 'hello\n')
app.get('/report', { config: { sluice: { cost: 10 } } }, () => 'a long report\n')
app.get('/health', { config: { sluice: false } }, () => 'fine\n')

await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' })
const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
console.log(`listening on http://127.0.0.1:${port}/`)
