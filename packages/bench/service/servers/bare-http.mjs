// Floor of a check: reads the request, parses its JSON, and sends the same bytes as the service.

import { createServer } from 'node:http'
import './report-cpu.mjs'

const BODY =
  '{"meta":{"message":"success","code":200,"status":"ok"},"data":{"status":"Allow","limit":1000000000,"remain":999999999,"reset_in_second":3600,"policy":"default","rule":"rule-1"}}'
const HEADERS = {
  'RateLimit-Policy': '"rule-1";q=1000000000;w=3600',
  RateLimit: '"rule-1";r=999999999;t=3600',
  'content-type': 'application/json; charset=utf-8',
  'content-length': BODY.length,
}

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  /** @type {Buffer[]} */
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const text = chunks.length === 1 ? chunks[0].toString() : Buffer.concat(chunks).toString()
    const { client_id, route } = JSON.parse(text)
    if (client_id === undefined || route === undefined) throw new Error('that was not a check')
    response.writeHead(200, HEADERS)
    response.end(BODY)
  })
})
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(JSON.stringify({ port, key: 'none' }))
})
