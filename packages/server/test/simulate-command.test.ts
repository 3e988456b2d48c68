// sluice simulate: reading of logs, reports as text, JSON and HTML, and exit codes.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { runProgram } from '../src/cli/program.ts'
import { widthOf } from '../src/cli/text-width.ts'
import { html } from '../src/simulate/report/html-text.ts'
import { startService } from './running-service.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { writtenTo } from './written-to.ts'

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Buffer
  readonly columns?: number
  readonly isTTY?: boolean
}

async function simulate(args: readonly string[], { env = {}, input = '', columns = 80, isTTY = false }: RunOptions = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()].map((stream) => Object.assign(stream, { isTTY, columns }))
  const code = await runProgram(['simulate', ...args], { stdin: Readable.from([input]), stdout, stderr, env, exitCode: 0 })
  return { code, stdout: writtenTo(stdout), stderr: writtenTo(stderr) }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read all fields of a report
async function reportOf(args: readonly string[], options?: RunOptions): Promise<any> {
  const { code, stdout, stderr } = await simulate([...args, '--json'], options)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}

function file(name: string, content: string | Buffer): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, content)
  return path
}

/** A line of the combined log, in the minute after 13:55. */
function line(client: string, second: number, path = '/orders', method = 'GET'): string {
  const time = `10/Oct/2026:13:55:${String(second).padStart(2, '0')} +0000`
  return `${client} - - [${time}] "${method} ${path} HTTP/1.1" 200 5 "-" "test"\n`
}

const policies = () =>
  file('new.yaml', 'policies:\n  - name: orders\n    route: /orders*\n    rules: 2/minute\n    scope: policy\n')

/** Three clients: ada asks four times, bob twice, eve once. */
const LOG =
  [1, 2, 3, 4].map((second) => line('ada', second, `/orders/${second}`)).join('') +
  line('bob', 5) +
  line('bob', 6) +
  line('eve', 7)

describe('a report', () => {
  test('has who was denied, when, by which rule, and the smallest limits', async () => {
    const report = await reportOf(['--policies', policies(), file('access.log', LOG)])
    expect(report).toMatchObject({
      ...{ requests: 7, clients: 3, denied: 2, clients_denied: 1, change: null, evictions: 0 },
      ...{ first: '2026-10-10T13:55:01.000Z', last: '2026-10-10T13:55:07.000Z' },
      policies: [
        {
          ...{ name: 'orders', requests: 7 },
          rules: [
            {
              ...{ name: 'rule-1', words: '2/minute', limit: 2, denied: 2, clients: 1 },
              first_denied: '2026-10-10T13:55:03.000Z',
              last_denied: '2026-10-10T13:55:04.000Z',
              smallest_limits: { clients: 3, p99: 4, p999: 4, all: 4 },
            },
          ],
        },
      ],
      top_clients: [{ client_id: 'ada', requests: 4, denied: 2, first_denied: '2026-10-10T13:55:03.000Z' }],
      series: { start: '2026-10-10T13:55:01.000Z', step_seconds: 1, denied: [0, 0, 1, 1, 0, 0, 0] },
      log: { form: 'combined', files: 1, lines: 7, unreadable: 0, too_long: 0 },
    })
  })

  test('as text', async () => {
    const { code, stdout } = await simulate(['--policies', policies(), file('access.log', LOG)])
    expect(code).toBe(0)
    expect(stdout).toBe(
      [
        '7 requests of 3 clients, 2026-10-10 13:55:01 to 2026-10-10 13:55:07 UTC.',
        '2 (29 %) would be denied, to 1 client (33 %).',
        '',
        'requests  ███████',
        'denied      ██',
        '',
        'policy and rule   requests  denied  clients  first denied',
        'orders: 2/minute  7              2        1  2026-10-10 13:55:03',
        '',
        'client, denied most  requests  denied  share  first denied',
        'ada                         4       2  50 %   2026-10-10 13:55:03',
        '',
        'smallest limit that leaves untouched  now  99 %  99.9 %  all clients',
        'orders: 2/minute                        2     4       4            4',
        '',
      ].join('\n'),
    )
  })

  test('fits 80 columns, whatever the names are', async () => {
    const long = `${'a-very-long-client-name-'.repeat(8)}顧客`
    const log = [1, 2, 3, 4, 5].map((second) => line(long, second, `/orders/${'x'.repeat(300)}`)).join('') + LOG
    const old = file('old.yaml', 'policies:\n  - name: default\n    rules: 1/minute\n')
    for (const more of [[], ['--against', old]]) {
      const { stdout } = await simulate(['--policies', policies(), ...more, file('access.log', log)])
      const tables = stdout
        .split('\n')
        .filter((text) => /^(?:a-very|ada|orders|policy|client|smallest|requests|denied)/.test(text))
      expect(tables.length).toBeGreaterThan(6)
      for (const text of tables) expect(widthOf(text), text).toBeLessThanOrEqual(80)
    }
  })

  test('says so if nothing was read', async () => {
    const { code, stdout } = await simulate(['--policies', policies(), file('empty.log', '')])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'There are no requests to replay.\n' })
  })

  test('a policy in shadow mode denies nothing, unless --enforce-shadow is given', async () => {
    const shadow = file('shadow.yaml', readFileSync(policies(), 'utf8').replace('scope:', 'mode: shadow\n    scope:'))
    const log = file('access.log', LOG)
    expect(await reportOf(['--policies', shadow, log])).toMatchObject({ denied: 0, shadow_denied: 2 })
    expect(await reportOf(['--policies', shadow, '--enforce-shadow', log])).toMatchObject({ denied: 2, shadow_denied: 0 })
  })
})

describe('logs', () => {
  test('are read in the order given, plain, compressed and from standard input', async () => {
    const lines = LOG.split(/(?<=\n)/)
    const packed = file('1.log.gz', Buffer.concat([gzipSync(lines[0]), gzipSync(lines.slice(1, 3).join(''))]))
    const report = await reportOf(['--policies', policies(), packed, file('2.log', lines.slice(3, 5).join('')), '-'], {
      input: gzipSync(lines.slice(5).join('')),
    })
    expect(report).toMatchObject({ requests: 7, denied: 2, log: { files: 3, lines: 7 }, late: { requests: 0 } })
  })

  test('with lines that cannot be read are read on, and the first few are shown', async () => {
    const log = file(
      'access.log',
      `${LOG}nonsense\n\n${'x'.repeat(70_000)}\n${line('ada', 61)}${LOG.replaceAll('13:55', '13:57')}`,
    )
    const { code, stdout } = await simulate(['--policies', policies(), log])
    expect(code).toBe(0)
    expect(stdout).toContain('14 requests of 3 clients')
    expect(stdout).toContain('Note: 3 lines could not be read. The first:')
    expect(stdout).toContain(`${log}:8: it has 1 fields, and 5 are needed`)
    expect(stdout).toContain(`${log}:9: it is empty`)
    expect(stdout).toContain(`${log}:11: its time cannot be read: "10/Oct/2026:13:55:61 +0000"`)
    expect(stdout).toContain('Note: 1 line longer than 64 KiB skipped.')
  })

  test('that are damaged are read up to the damage', async () => {
    const packed = gzipSync(LOG.repeat(2000))
    const report = await reportOf([
      '--policies',
      policies(),
      file('a.log.gz', packed.subarray(0, packed.length - 20)),
      file('b.log', LOG),
    ])
    expect(report.log.cut_off).toEqual([{ file: expect.stringMatching(/a\.log\.gz$/), reason: 'unexpected end of file' }])
    expect(report.requests).toBeGreaterThan(7)
  })

  test('whose times step back are decided at the later time, and counted, or put in order', async () => {
    const log = file('access.log', line('ada', 1) + line('ada', 9) + line('ada', 4) + line('ada', 10))
    const args = ['--policies', policies(), log]
    expect((await reportOf(args)).late).toEqual({ requests: 1, most_ms: 5000 })
    const ordered = await reportOf([...args, '--reorder', '5s'])
    expect(ordered.late).toEqual({ requests: 0, most_ms: 0 })
    expect(ordered.series.requests).toEqual([1, 0, 0, 1, 0, 0, 0, 0, 1, 1])
    const further = file('further.log', [1, 9, 8, 10, 4].map((second) => line('ada', second)).join(''))
    expect((await reportOf(['--policies', policies(), '--reorder', '1s', further])).late).toEqual({ requests: 1, most_ms: 5000 })
  })

  test('can be cut by time', async () => {
    const args = ['--since', '2026-10-10T13:55:02Z', '--until', '2026-10-10T13:55:05Z']
    const report = await reportOf(['--policies', policies(), ...args, file('access.log', LOG)])
    expect(report).toMatchObject({ requests: 3, log: { lines: 7, outside: 4 } })
  })

  test('are mapped: client, route, cost', async () => {
    const log = file(
      'a.jsonl',
      ['a', 'b', 'a'].map((user, i) => JSON.stringify({ at: 1791640536 + i, user, op: 'x', n: 2 })).join('\n'),
    )
    const rules = file('p.yaml', 'policies:\n  - name: x\n    route: x\n    rules: 3/minute\n')
    const args = ['--format', 'json', '--time', 'at', '--client', 'user', '--route', 'op', '--cost', 'n']
    const report = await reportOf(['--policies', rules, ...args, log])
    expect(report).toMatchObject({ requests: 3, denied: 1, top_clients: [{ client_id: 'a', denied: 1 }] })
  })

  test('have attributes, which policies match', async () => {
    const lines = ['free', 'paid', 'free'].map((plan, i) =>
      JSON.stringify({ time: 1791640536 + i, client: 'ada', path: '/', plan }),
    )
    const rules = file('p.yaml', 'policies:\n  - { name: free, where: { plan: free }, rules: 1/minute }\n')
    const report = await reportOf(['--policies', rules, '--attribute', 'plan=plan', file('a.jsonl', lines.join('\n'))])
    expect(report).toMatchObject({ requests: 3, denied: 1, policies: [{ name: 'free', requests: 2 }, { name: 'default' }] })
  })

  test('with more clients than --max-clients are counted in all', async () => {
    const many = Array.from({ length: 40 }, (_, i) => line(`client-${i}`, 1).repeat(3)).join('')
    const report = await reportOf(['--policies', policies(), '--max-clients', '10', '--top', '5', file('access.log', many)])
    expect(report).toMatchObject({ requests: 120, clients: 10, denied: 40, clients_denied: 10 })
    expect(report.other_clients).toMatchObject({ requests: 90, denied: 30 })
    expect(report.top_clients).toHaveLength(5)
    expect(report.other_clients.top[0]).toMatchObject({ denied_at_most: 1, error: 0 })
  })

  test('that are hostile are read to their end: no line break, NUL bytes, bytes that are not UTF-8, quotes without an end', async () => {
    const hostile = [
      ...[Buffer.alloc(3_000_000, 'x'), Buffer.from('\n'), Buffer.alloc(1000), Buffer.from('\n"'), Buffer.alloc(70_000, '"')],
      ...[Buffer.from('\n'), Buffer.from([0xff, 0xfe, 0xc3, 10]), Buffer.from('a - - [10/Oct/2026:13:55:01 +0000] "GET /\\\n')],
      ...[Buffer.from(LOG), Buffer.from('caf'), Buffer.from([0xe9]), Buffer.from(line('', 9)), Buffer.alloc(2_000_000, '[')],
    ]
    const report = await reportOf(['--policies', policies(), '--format', 'combined', file('access.log', Buffer.concat(hostile))])
    expect(report).toMatchObject({ requests: 8, denied: 2, clients: 4, log: { lines: 14, unreadable: 3, too_long: 3 } })
    expect(report.log.problems.map(({ line }: { line: number }) => line)).toEqual([2, 4, 5])
  })

  test('show their progress on a terminal', async () => {
    const { stderr } = await simulate(['--policies', policies(), file('access.log', LOG)], { isTTY: true })
    expect(stderr).toMatch(/ bytes, 100 %/)
    expect(stderr.endsWith('\r\x1b[K')).toBe(true)
  })
})

describe('beside other policies', () => {
  test('it reports what changes', async () => {
    const old = file(
      'old.yaml',
      'policies:\n  - name: orders\n    route: /orders*\n    rules: 3/minute\n    scope: policy\n  - name: bob\n    client: bob\n    rules: 1/minute\n',
    )
    const args = ['--policies', policies(), '--against', old]
    const report = await reportOf([...args, file('access.log', LOG)])
    expect(report.change).toEqual({
      ...{ denied_before: 2, newly_denied: 1, newly_allowed: 1, clients_newly_denied: 1, clients_newly_allowed: 1 },
    })
    expect(report.top_clients).toMatchObject([{ client_id: 'ada', newly_denied: 1, denied_before: 1 }])
    expect(report.top_newly_allowed).toMatchObject([{ client_id: 'bob', newly_allowed: 1 }])
    const { stdout } = await simulate([...args, file('access.log', LOG)])
    expect(stdout).toContain(`Beside ${old}: 1 newly denied (1 client), 1 newly allowed (1 client); 2 were denied before.`)
    // With --partial, the policy of bob stays.
    expect((await reportOf([...args, '--partial', file('access.log', LOG)])).change).toMatchObject({
      newly_allowed: 0,
      newly_denied: 1,
    })
  })

  test('it asks the running service for the policies in force', async () => {
    const service = await startService()
    await service.call('PUT', '/v1/policies/orders', { route: '/orders*', rules: '3/minute', scope: 'policy' })
    const env = { SLUICE_URL: service.address, SLUICE_API_KEY: service.key }
    const report = await reportOf(['--policies', policies(), '--against', 'current', file('access.log', LOG)], { env })
    expect(report.change).toMatchObject({ denied_before: 1, newly_denied: 1, newly_allowed: 0 })
    const refused = await simulate(['--policies', policies(), '--against', 'current', file('access.log', LOG)], {
      env: { ...env, SLUICE_API_KEY: 'slk_wrong' },
    })
    expect(refused).toMatchObject({ code: 4, stdout: '' })
    const gone = await simulate(['--policies', policies(), '--against', 'current', file('access.log', LOG)], {
      env: { SLUICE_URL: 'http://127.0.0.1:1' },
    })
    expect(gone).toMatchObject({ code: 3, stdout: '' })
  })
})

describe('the HTML page', () => {
  test('loads nothing, runs nothing, and shows names as text', async () => {
    const evil = '<script>alert(1)</script>'
    const log = file('access.log', `${LOG}${[1, 2, 3].map((second) => line(evil, second + 10)).join('')}`)
    const path = join(temporaryFolder(), 'report.html')
    const old = file('old.yaml', 'policies:\n  - name: default\n    rules: 5/minute\n')
    expect((await simulate(['--policies', policies(), '--against', old, '--html', path, log])).code).toBe(0)
    const page = readFileSync(path, 'utf8')
    const [, style] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? []
    const hash = createHash('sha256').update(style).digest('base64')
    expect(page).toContain(`content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'"`)
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\bsrc=|\bhref=|\bstyle=|\son\w+=|url\(|@import|https?:/)
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).toContain('prefers-color-scheme: dark')
    expect(page.match(/<svg viewBox/g)?.length).toBeGreaterThanOrEqual(2)
    expect(page).toContain('newly denied')
    expect(page).toContain(
      '2 of 4 clients (50\u00a0%) would be denied at least once. The client ada alone has 67\u00a0% of the denials.',
    )
    expect(page).toContain('The rule 2/minute of the policy orders makes 100\u00a0% of them.')
    expect(page).toContain(`Beside ${html(old)}, 3 requests of 2 clients would be denied that were allowed before.`)
  })
})

describe('wrong use ends with 2 and a message', () => {
  const log = () => file('access.log', LOG)
  test.each([
    [() => [log()], "required option '--policies <file>' not specified"],
    [() => ['--policies', policies()], "missing required argument 'log'"],
    [() => ['--policies', policies(), '--partial', log()], '--partial needs --against'],
    [() => ['--policies', policies(), '--format', 'xml', log()], 'Allowed choices are auto, combined'],
    [() => ['--policies', policies(), '--client', 'user', log()], 'there is no field user: there is remote_addr'],
    [() => ['--policies', policies(), '--with', 'port', log()], 'It must be one or several of method, host'],
    [() => ['--policies', policies(), '--since', 'noon', log()], 'It must be a time such as'],
    [() => ['--policies', policies(), '--attribute', 'plan', log()], '--attribute takes name=field, got plan'],
    [() => ['--policies', policies(), '--attribute', 'Plan=status', log()], 'a name of up to 64 characters'],
    [() => ['--policies', policies(), '--route', 'path', '--path', 'path', log()], 'give either --route or --path'],
    [() => ['--policies', policies(), '-', '-'], 'standard input can be read only once'],
    [() => ['--policies', policies(), file('a.txt', 'hello\n')], 'is not recognised: name it with --format'],
    [() => ['--policies', file('p.yaml', 'policies:\n  - name: x\n    rules: 5/never\n'), log()], 'no unit is called "never"'],
    [() => ['--policies', join(temporaryFolder(), 'none.yaml'), log()], 'cannot be read'],
    [() => ['--policies', policies(), join(temporaryFolder(), 'none.log')], 'none.log'],
    [() => ['--policies', policies(), temporaryFolder()], 'is a folder'],
  ])('%#: %s', async (args, message) => {
    const { code, stdout, stderr } = await simulate(args())
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(message)
  })
})
