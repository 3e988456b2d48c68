// node:http with a custom response for denied requests. Try:
//   curl -i http://127.0.0.1:3000/

import { createServer } from 'node:http'
import { parseRule } from 'sluice'
import { legacyStyle } from 'sluice/http'
import { nodeLimiter } from 'sluice/node'

const limit = nodeLimiter({
  rules: parseRule('3/minute'),
  headers: ['draft-11', legacyStyle],
  onDenied: ({ denial }) => ({
    headers: { 'Content-Type': 'text/plain' },
    body: `Too many requests. Come back in ${denial.headers['Retry-After']} s.\n`,
  }),
})

const server = createServer((request, response) => {
  limit(request, response, (error) => {
    response.statusCode = error === undefined ? 200 : 500
    response.end(error === undefined ? 'hello\n' : 'sorry\n')
  })
})

server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(`listening on http://127.0.0.1:${port}/`)
})
