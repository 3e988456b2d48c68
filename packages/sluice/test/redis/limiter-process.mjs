// A process of its own that hits what its parent tells it to, through a client of its own. SKEW_MS makes its clock wrong.
// Uses the built package, as programs do.

const skewMs = Number(process.env.SKEW_MS ?? 0)
const RealDate = Date
// Before anything else is loaded, so that nobody has seen the right time.
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + skewMs] : args))
  }

  static now() {
    return RealDate.now() + skewMs
  }
}

const { Redis } = await import('ioredis')
const { createLimiter } = await import('sluice')
const { redisStore } = await import('sluice/redis')
const { makeRule } = await import('sluice/rules')

const client = new Redis(Number(process.env.REDIS_PORT), '127.0.0.1')

/** Makes all calls of a task at once. */
async function answersTo({ rules, prefix, batch, calls }) {
  const store = redisStore(client, { prefix, batch })
  const limiter = createLimiter({ rules: rules.map(makeRule), store, failure: { timeoutMs: 20_000 } })
  return Promise.all(calls.map(([method, ...args]) => limiter[method](...args)))
}

process.on('message', async ({ id, task }) => {
  try {
    process.send({ id, answers: await answersTo(task), nowMs: Date.now() })
  } catch (error) {
    process.send({ id, error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
process.send('ready')
