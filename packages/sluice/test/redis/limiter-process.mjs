// A process of its own that hits what its parent tells it to, through a client of its own. SKEW_MS makes its clock wrong, and
// REDIS_CLUSTER says that the port is that of a cluster. Uses the built package, as programs do.

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

const { Cluster, Redis } = await import('ioredis')
const sluice = await import('sluice')
const { redisStore } = await import('sluice/redis')
const { knownRule } = await import('sluice/testing')

const address = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) }
const client = process.env.REDIS_CLUSTER === undefined ? new Redis(address) : new Cluster([address])

/** A known rule, or one made by the named function. */
function ruleOf(rule) {
  return 'make' in rule ? sluice[rule.make](rule.options) : knownRule(rule)
}

/** Makes all calls of a task at once. */
async function answersTo({ rules, prefix, batch, calls }) {
  const store = redisStore(client, { prefix, batch })
  const limiter = sluice.createLimiter({ rules: rules.map(ruleOf), store, failure: { timeoutMs: 20_000 } })
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
