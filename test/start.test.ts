// `npm start` as a person uses it: it prints an address, a key and a command that works, and ends on Ctrl-C.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { until } from './servers/redis-server.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Runs the program of `npm start` in its own folder and on a free port. */
function start(folder: string) {
  const [program, script, ...args] = scripts.start.split(' ')
  expect(program).toBe('node')
  const env = { ...process.env, SLUICE_LISTEN: '127.0.0.1:0' }
  const child = spawn(process.execPath, [join(root, script), ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const printed = { text: '' }
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed.text += text
    })
  }
  return { child, printed }
}

test('it prints the address, the key and a line that works, at every start, and Ctrl-C stops it cleanly', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-start-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const keys: string[] = []
  for (const remain of [99, 98]) {
    const { child, printed } = start(folder)
    await until('the line to paste', async () => /^ {2}curl .*\n/m.test(printed.text), 20_000)
    expect(printed.text).toMatch(/^Sluice listens at http:\/\/127\.0\.0\.1:\d+: /)
    keys.push(/^ {2}(sluice_\w+)$/m.exec(printed.text)?.[1] ?? '')
    const [, line] = /^ {2}(curl .*)$/m.exec(printed.text) ?? []
    const { stdout } = await promisify(execFile)('sh', ['-c', line])
    expect(JSON.parse(stdout)).toMatchObject({ meta: { status: 'ok' }, data: { status: 'Allow', limit: 100 } })
    // After the end of a minute the window is a new one.
    expect([remain, 99]).toContain(JSON.parse(stdout).data.remain)
    child.kill('SIGINT')
    expect(await once(child, 'exit')).toEqual([0, null])
    expect(printed.text).not.toMatch(/error|warn/i)
  }
  expect(keys[0]).toMatch(/^sluice_/)
  expect(keys[1]).toBe(keys[0])
})
