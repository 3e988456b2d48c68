// Imports every public entry point of the built packages and compares its names with the committed list.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ruleCatalogue } from 'sluice/rules'
import { expect, test } from 'vitest'

const PACKAGES = { sluice: 'sluice', 'sluice-client': 'client', 'sluice-server': 'server' }

/** Every public name. To add one is a promise. To remove one needs a new major version. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  sluice: [
    'ERROR_CODES',
    'SluiceError',
    'createLimiter',
    'decide',
    'durationMs',
    'memoryStore',
    'dumpStore',
    'holds',
    'parseRule',
    'restoreStore',
    'waitingLine',
    // The functions that make rules.
    ...ruleCatalogue.map(({ call }) => call),
  ],
  'sluice/http': [
    'PATH_FOLDS',
    'anthropicStyle',
    'cidrList',
    'clientAddress',
    'clientList',
    'createResponder',
    'draft6Style',
    'draft7Style',
    'legacyStyle',
    'openaiStyle',
    'plainPath',
    'retryHints',
  ],
  'sluice/rules': [
    'CALENDAR_UNITS',
    'NOTATION_UNITS',
    'OPTION_BOUNDS',
    'findRuleFacts',
    'makeRule',
    'readNotation',
    'ruleCatalogue',
  ],
  'sluice/redis': ['redisStore'],
  'sluice/sqlite': ['sqliteStore'],
  'sluice/postgres': ['postgresFunctions', 'postgresSchema', 'postgresStore'],
  'sluice/mysql': ['mysqlSchema', 'mysqlStore'],
  'sluice/memcached': ['memcachedStore'],
  'sluice/durable-object': ['SluiceObject', 'durableObjectStore'],
  'sluice-server': ['SERVER_ERROR_CODES', 'ServerError', 'loadConfig', 'runUntilSignal', 'serve'],
  'sluice-client': ['CLIENT_ERROR_CODES', 'ClientError', 'createClient'],
  'sluice-client/node': ['CLIENT_ERROR_CODES', 'ClientError', 'createClient'],
  'sluice-client/contract': ['LIMITS', 'PATTERNS', 'ROUTES', 'addressOf', 'blockName'],
  'sluice/express': ['expressLimiter'],
  'sluice/fastify': ['fastifyLimiter'],
  'sluice/hono': ['honoLimiter'],
  'sluice/koa': ['koaLimiter'],
  'sluice/fetch': ['fetchLimiter'],
  'sluice/node': ['nodeLimiter'],
  'sluice/nest': ['RateLimit', 'nestLimiter'],
  'sluice/streams': ['anthropicUsage', 'meter', 'openaiUsage'],
  'sluice/tracing': ['traced'],
  'sluice/requests': ['chargeByResponse', 'rulesByRequest'],
  'sluice/reserving': ['reportUsage', 'reserving'],
  'sluice/engines': [
    'MOVED',
    'compareAndSwapStore',
    'decodeCells',
    'encodeCells',
    'inPlaceStore',
    'nameOfKey',
    'nameOfState',
    'scriptedStore',
    'sortByCode',
    'systemClock',
    'transactionStore',
  ],
  'sluice/failure': ['Breaker', 'Deadlines'],
  'sluice/testing': [
    'KNOWN_ANSWERS',
    'definitionStore',
    'everyRule',
    'exampleRule',
    'failingStore',
    'fakeClock',
    'replay',
    'storeSuite',
  ],
}

test('the doors are those of the list', () => {
  const doors = Object.entries(PACKAGES).flatMap(([name, folder]) => {
    const { exports } = JSON.parse(
      readFileSync(fileURLToPath(new URL(`../packages/${folder}/package.json`, import.meta.url)), 'utf8'),
    )
    return Object.keys(exports)
      .filter((door) => !door.endsWith('.json'))
      .map((door) => `${name}${door.slice(1)}`)
  })
  expect(doors.sort()).toEqual(Object.keys(DOORS).sort())
})

for (const [door, names] of Object.entries(DOORS)) {
  test(`${door} has the names of the list`, async () => {
    const opened = await import(/* @vite-ignore */ door)
    expect(Object.keys(opened).sort()).toEqual([...names].sort())
  })
}

test('sluice/http needs nothing that only Node has', () => {
  const program = `
    const { log } = console
    for (const name of ['process', 'Buffer', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name]
    const { createLimiter, parseRule } = await import('sluice')
    const { clientAddress, createResponder, legacyStyle } = await import('sluice/http')
    const limiter = createLimiter({ rules: parseRule('1/minute') })
    const responder = createResponder({ rules: limiter.rules, headers: ['draft-11', legacyStyle] })
    const { key } = clientAddress()('203.0.113.9', { 'x-forwarded-for': '198.51.100.1' })
    limiter.hit(key)
    log(key, responder.denial(limiter.hit(key), key).headers.RateLimit)
    limiter.close()
  `
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  })
  expect(stdout).toBe('203.0.113.9 "fixed-window:1/1m";r=0;t=60;pk=:MjAzLjAuMTEzLjk=:\n')
  expect(stderr).toMatch(/^WARN_UNTRUSTED_PROXY: /)
})
