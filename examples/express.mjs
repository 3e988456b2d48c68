// Express: a limit for all routes, and one of its own for failed logins. Try:
//   curl -i http://127.0.0.1:3000/
//   curl -i http://127.0.0.1:3000/login -d account=ada -d password=guess

/** @import { Request } from 'express' */

import express from 'express'
import { fixedWindow, parseRule } from 'sluice'
import { expressLimiter } from 'sluice/express'
import { chargeByResponse } from 'sluice/requests'

const app = express()
app.use(expressLimiter({ rules: parseRule('5/second; 100/minute'), skip: (req) => req.path === '/health' }))
app.use(express.urlencoded({ extended: false }))

const guesses = expressLimiter({
  rules: [
    fixedWindow({ limit: 3, window: '15m', name: 'guesses', per: ['account', 'address'] }),
    fixedWindow({ limit: 20, window: '15m', name: 'from one address', per: 'address' }),
  ],
  key: (/** @type {Request} */ req, { address }) => ({ account: req.body.account, address: address.key }),
  charge: chargeByResponse((status) => status === 401),
})

app.get('/', (_req, res) => void res.send('hello\n'))
app.get('/health', (_req, res) => void res.send('fine\n'))
app.post('/login', guesses, (req, res) => {
  if (req.body.password === 'correct horse') res.send('welcome\n')
  else res.status(401).send('wrong\n')
})

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.log(`listening on http://127.0.0.1:${port}/`)
})
