// The intended design of every package: which layer may import from which. Code that breaks it is an exception with a reason, or wrong.

export interface Exception {
  readonly file: string
  readonly to: string
  readonly reason: string
}

/** Layers by name, each with the layers that it may import from besides itself. A layer that does not exist yet is fine. */
export type Layers = Readonly<Record<string, readonly string[]>>

export interface PackageDesign {
  readonly layers: Layers
  /** Invariant: each is needed. One that is not needed any more fails the test. */
  readonly exceptions: readonly Exception[]
}

/** core ← algorithms ← engines ← stores, core ← failure, core ← http ← middleware. Doors for users stand on top. */
const library: PackageDesign = {
  layers: {
    core: [],
    algorithms: ['core'],
    failure: ['core'],
    waiting: ['core'],
    engines: ['core', 'algorithms', 'failure'],
    stores: ['core', 'algorithms', 'engines', 'failure'],
    holds: ['core', 'stores'],
    'create-limiter.ts': ['core', 'algorithms', 'failure', 'engines', 'stores'],
    http: ['core'],
    streams: ['core'],
    tracing: ['core'],
    middleware: ['core', 'http', 'stores', 'streams', 'holds', 'create-limiter.ts'],
    testing: [
      'core',
      'algorithms',
      'failure',
      'waiting',
      'holds',
      'engines',
      'stores',
      'create-limiter.ts',
      'http',
      'middleware',
    ],
    'index.ts': ['core', 'algorithms', 'waiting', 'failure', 'engines', 'stores', 'holds', 'create-limiter.ts'],
  },
  exceptions: [],
}

/**
 * Subjects at the bottom know nothing of each other's protocols. `service.ts` joins them; doors stand on it and never below it. Limits
 * and codes of the contract are numbers and names, which every subject may know; its schemas describe what doors send.
 */
const server: PackageDesign = {
  layers: {
    'contract/limits.ts': [],
    'contract/error-codes.ts': [],
    'errors.ts': ['contract/error-codes.ts'],
    'version.ts': [],
    stats: [],
    input: ['errors.ts'],
    'records.ts': ['errors.ts'],
    files: ['errors.ts'],
    keys: ['errors.ts', 'input', 'records.ts'],
    policies: ['contract/limits.ts', 'errors.ts', 'input', 'records.ts'],
    audit: ['contract/limits.ts', 'records.ts'],
    config: ['errors.ts', 'input', 'policies'],
    log: ['config'],
    decide: ['errors.ts', 'policies', 'stats'],
    'records-maintenance.ts': [],
    // Every change of records goes through it. It knows no protocol and no database.
    desk: ['errors.ts', 'records.ts', 'records-maintenance.ts', 'keys', 'policies', 'audit'],
    fleet: ['stats'],
    'service.ts': ['config', 'audit', 'decide', 'keys', 'policies', 'stats', 'desk', 'fleet', 'records-maintenance.ts'],
    contract: ['contract/limits.ts', 'policies', 'stats', 'service.ts'],
    simulate: ['contract/limits.ts', 'errors.ts', 'policies', 'stats', 'decide'],
    'backends/service-storage.ts': ['records.ts', 'records-maintenance.ts', 'config', 'log', 'audit', 'fleet', 'service.ts'],
    'backends/records': ['errors.ts', 'records.ts', 'files', 'keys'],
    'backends/database.ts': ['audit', 'fleet', 'backends/records'],
    'backends/redis': [
      'errors.ts',
      'records.ts',
      'input',
      'config',
      'audit',
      'fleet',
      'backends/records',
      'backends/database.ts',
    ],
    'backends/sql': ['errors.ts', 'records.ts', 'files', 'input', 'audit', 'fleet', 'backends/records'],
    'backends/postgres': ['errors.ts', 'backends/sql', 'backends/database.ts'],
    'backends/sqlite': ['errors.ts', 'backends/sql', 'backends/database.ts'],
    'backends/databases.ts': ['config', 'backends/database.ts', 'backends/redis', 'backends/postgres', 'backends/sqlite'],
    'backends/folder': ['errors.ts', 'records.ts', 'files', 'input', 'audit', 'backends/service-storage.ts'],
    'backends/database-storage.ts': [
      'errors.ts',
      'config',
      'log',
      'backends/records',
      'backends/databases.ts',
      'backends/service-storage.ts',
    ],
    'backends/storage.ts': ['backends/service-storage.ts', 'backends/folder', 'backends/database-storage.ts'],
    'first-key.ts': ['errors.ts', 'keys', 'desk'],
    'doors/door.ts': ['config', 'service.ts'],
    'doors/address-in-use.ts': ['config'],
    'doors/stale-socket.ts': ['errors.ts'],
    'doors/fixed-buffer-socket.ts': [],
    'doors/short-client-id.ts': ['contract/limits.ts'],
    'doors/rate-limit-headers.ts': ['decide'],
    'doors/hold-token.ts': ['errors.ts', 'input', 'keys', 'decide', 'contract'],
    'doors/http': [
      'doors/door.ts',
      'doors/fixed-buffer-socket.ts',
      'doors/short-client-id.ts',
      'doors/rate-limit-headers.ts',
      'doors/address-in-use.ts',
      'doors/hold-token.ts',
      'doors/stale-socket.ts',
      'errors.ts',
      'version.ts',
      'records-maintenance.ts',
      'input',
      'config',
      'log',
      'keys',
      'policies',
      'desk',
      'decide',
      'stats',
      'fleet',
      'service.ts',
      'simulate',
      'contract',
      'contract/limits.ts',
    ],
    'doors/resp': [
      'doors/door.ts',
      'doors/fixed-buffer-socket.ts',
      'doors/address-in-use.ts',
      'doors/stale-socket.ts',
      'doors/hold-token.ts',
      'errors.ts',
      'version.ts',
      'input',
      'config',
      'log',
      'keys',
      'policies',
      'decide',
      'stats',
      'service.ts',
      'contract',
      'contract/limits.ts',
    ],
    'doors/rls': [
      'doors/door.ts',
      'doors/address-in-use.ts',
      'doors/stale-socket.ts',
      'doors/short-client-id.ts',
      'doors/rate-limit-headers.ts',
      'errors.ts',
      'config',
      'keys',
      'policies',
      'decide',
      'stats',
      'service.ts',
    ],
    'doors/open-doors.ts': ['config', 'log', 'doors/door.ts', 'doors/http', 'doors/resp', 'doors/rls'],
    'serve.ts': [
      'errors.ts',
      'version.ts',
      'config',
      'log',
      'keys',
      'policies',
      'desk',
      'decide',
      'stats',
      'fleet',
      'service.ts',
      'backends/storage.ts',
      'first-key.ts',
      'doors/open-doors.ts',
    ],
    'run-until-signal.ts': ['serve.ts'],
    cli: [
      'contract/limits.ts',
      'errors.ts',
      'version.ts',
      'input',
      'keys',
      'policies',
      'config',
      'simulate',
      'serve.ts',
      'run-until-signal.ts',
    ],
    'index.ts': ['errors.ts', 'config', 'policies', 'serve.ts', 'run-until-signal.ts'],
  },
  exceptions: [
    ...['records.ts', 'audit', 'desk', 'backends/folder', 'backends/records', 'backends/databases.ts'].map((to) => ({
      file: 'cli/offline-key.ts',
      to,
      reason: 'Makes a key without the service, for somebody who has lost every admin key.',
    })),
  ],
}

/** contract ← errors and options ← transport ← calls ← the client ← its doors. */
const client: PackageDesign = {
  layers: {
    contract: [],
    'client-error.ts': ['contract'],
    'client-options.ts': ['client-error.ts'],
    'check-json.ts': ['contract', 'client-options.ts'],
    'check-batch.ts': ['contract'],
    'answers.ts': ['contract', 'client-error.ts'],
    transport: ['client-error.ts'],
    'caller.ts': ['contract', 'client-error.ts', 'transport'],
    'guard.ts': ['client-error.ts', 'client-options.ts', 'check-json.ts', 'answers.ts'],
    'client-hold.ts': ['contract', 'client-error.ts', 'check-json.ts', 'answers.ts', 'caller.ts', 'guard.ts'],
    'client.ts': [
      'contract',
      'client-error.ts',
      'client-options.ts',
      'check-json.ts',
      'check-batch.ts',
      'answers.ts',
      'transport',
      'caller.ts',
      'guard.ts',
      'client-hold.ts',
    ],
    'names.ts': ['client-error.ts', 'client-options.ts', 'check-json.ts', 'answers.ts', 'client-hold.ts', 'client.ts'],
    'index.ts': ['names.ts', 'client-options.ts', 'transport', 'client.ts'],
    'node.ts': ['names.ts', 'client-options.ts', 'transport', 'client.ts'],
  },
  exceptions: [],
}

/** theme, words, api ← controls ← what is typed, drawn and stands around ← pages and the playground, which do not know each other. */
const dashboard: PackageDesign = {
  layers: {
    theme: [],
    words: [],
    api: [],
    'api-reference': ['theme'],
    controls: ['theme', 'words', 'api'],
    forms: ['words', 'api', 'controls'],
    rules: ['words', 'api', 'controls', 'forms'],
    charts: ['theme', 'words', 'api', 'controls'],
    lanes: ['words', 'controls', 'forms'],
    shell: ['theme', 'words', 'api', 'controls'],
    playground: ['words', 'controls', 'forms', 'rules', 'lanes'],
    pages: ['words', 'api', 'controls', 'forms', 'rules', 'charts', 'lanes', 'shell'],
    'playground-alone.tsx': ['theme', 'controls', 'shell', 'playground'],
    'main.tsx': ['theme', 'api', 'shell', 'pages', 'playground'],
  },
  exceptions: [],
}

/** report ← rounds ← one folder for each bench, which do not know each other. `..` is the repository's own servers and scripts. */
const bench: PackageDesign = {
  layers: {
    'quota.mjs': [],
    'rules.mjs': ['quota.mjs'],
    report: [],
    rounds: ['report'],
    memory: ['quota.mjs', 'rules.mjs', 'report', 'rounds'],
    redis: ['quota.mjs', 'rules.mjs', 'report', 'rounds', '..'],
    sqlite: ['quota.mjs', 'rules.mjs', 'report', 'rounds'],
    postgres: ['quota.mjs', 'report', 'rounds', '..'],
    mysql: ['quota.mjs', 'report', 'rounds', '..'],
    memcached: ['quota.mjs', 'rules.mjs', 'report', 'rounds', '..'],
    'durable-object': ['quota.mjs', 'report', 'rounds', '..'],
    http: ['quota.mjs', 'report', 'rounds'],
    service: ['report', 'rounds', '..'],
    simulate: ['report', 'rounds', '..'],
    'bench.mjs': [
      'report',
      'rounds',
      'memory',
      'redis',
      'sqlite',
      'postgres',
      'mysql',
      'memcached',
      'durable-object',
      'http',
      'service',
      'simulate',
    ],
  },
  exceptions: [],
}

/** By folder in packages. */
export const DESIGN: Readonly<Record<string, PackageDesign>> = { sluice: library, client, server, dashboard, bench }
