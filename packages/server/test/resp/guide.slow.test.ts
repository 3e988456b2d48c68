// The clients of the guide, as it shows them: TypeScript, and Python in a virtual environment.

import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { startResp } from './resp-service.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const guide = readFileSync(join(root, 'docs/guides/resp.md'), 'utf8')
const run = promisify(execFile)

/** The code of the only block with this mark. */
function block(mark: string): string {
  const [found] = guide.matchAll(new RegExp(`^\`\`\`${mark}\\n(.*?)^\`\`\`$`, 'gms'))
  return found[1]
}

const urlOf = ({ key, port }: { readonly key: string; readonly port: number }): string => `redis://:${key}@127.0.0.1:${port}`

test('the TypeScript of the guide prints what is left', async () => {
  // Beside the packages that it imports. The block has no types, so Node runs it.
  const folder = mkdtempSync(join(root, 'node_modules/.resp-guide-'))
  const file = join(folder, 'guide.mjs')
  writeFileSync(file, block('ts no-run'))
  try {
    const env = { ...process.env, SLUICE_RESP_URL: urlOf(await startResp()) }
    const { stdout } = await run(process.execPath, [file], { env, timeout: 60_000 })
    expect(stdout).toBe('15 of 16 left\nstatus Allow\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Installs Python's client. Returns the reason if PyPI cannot be reached. */
function installPython(folder: string): string {
  try {
    execFileSync('python3', ['-m', 'venv', folder], { stdio: 'pipe', timeout: 120_000 })
    execFileSync(join(folder, 'bin/pip'), ['install', '--quiet', 'redis'], { stdio: 'pipe', timeout: 120_000 })
    return ''
  } catch (error) {
    return `PyPI cannot be reached: ${String((error as { stderr?: Buffer }).stderr ?? error).slice(-300)}`
  }
}

const environment = mkdtempSync(join(tmpdir(), 'sluice-python-'))
const whyNot = installPython(environment)
if (whyNot !== '') console.warn(`The Python client is not tested. ${whyNot}`)

describe(`Python${whyNot && ', skipped: PyPI cannot be reached'}`, { skip: whyNot !== '' }, () => {
  const python = (url: string, code: string) =>
    run(join(environment, 'bin/python'), ['-c', code], { env: { ...process.env, SLUICE_RESP_URL: url }, timeout: 60_000 })

  afterAll(() => rmSync(environment, { recursive: true, force: true }))

  test('the code of the guide prints what is left, and how many of a pipeline are limited', async () => {
    const { stdout } = await python(urlOf(await startResp()), block('python'))
    expect(stdout).toBe('15 of 16 left\n5 of 20 limited\n')
  })

  test.each([2, 3])('speaks RESP%i, and raises errors', async (protocol) => {
    const service = await startResp()
    const code = `
import os, redis
client = redis.Redis.from_url(os.environ["SLUICE_RESP_URL"], decode_responses=True, protocol=${protocol}, client_name="py")
print(client.ping(), client.client_getname())
answer = client.execute_command("SLUICE.CHECK", "acme", "/", 40)
fields = answer if isinstance(answer, dict) else dict(zip(answer[::2], answer[1::2]))
print(fields["status"], fields["remain"])
try:
    client.execute_command("CL.THROTTLE", "a", "x", 1, 1)
except redis.ResponseError as error:
    print(error)
`
    const { stdout } = await python(urlOf(service), code)
    expect(stdout).toBe("True py\nAllow 60\nCell error: Couldn't parse as integer: x\n")
  })

  test('a wrong key is an error of authentication', async () => {
    const { port } = await startResp()
    const code = `
import os, redis
try:
    redis.Redis.from_url(os.environ["SLUICE_RESP_URL"]).ping()
except redis.AuthenticationError as error:
    print(error)
`
    const { stdout } = await python(urlOf({ key: 'wrong', port }), code)
    expect(stdout).toContain('invalid username-password pair')
  })
})
