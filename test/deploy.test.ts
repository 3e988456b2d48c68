// Everything that the files in deploy name exists: paths, flags, variables, users' rights. There may be no container runtime
// here, so only checks without one run.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { flags, OPTION_NAMES, variableOf } from '../packages/server/src/config/options.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const container = read('deploy/Containerfile')
const unit = read('deploy/sluice.service')
const compose = parse(read('deploy/compose.yaml'), { merge: true })

const variables = [...OPTION_NAMES, 'config'].map(variableOf)
const knownFlags = [...flags().map(({ usage }) => usage.split(' ')[0]), '--admin-key-file', '--show-key']

test('the container copies what is there, or what the build makes', () => {
  const copied = [...container.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) => paths.split(' '))
  expect(copied).toContain('package-lock.json')
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
  const fromBuild = [...container.matchAll(/^COPY --from=build (.+) \S+$/gm)].flatMap(([, paths]) => paths.split(' '))
  expect(fromBuild).toContain('/sluice/packages/server')
  expect(fromBuild.filter((path) => !existsSync(join(root, path.replace('/sluice/', ''))))).toEqual([])
})

test('the container ignores nothing that it copies', () => {
  const ignored = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !line.includes('*'))
  expect(ignored.length).toBeGreaterThan(2)
  for (const path of ignored) expect(container).not.toMatch(new RegExp(`^COPY .*\\b${path}\\b`, 'm'))
})

test('the container runs the command as an unprivileged user, and has a health check', () => {
  const manifest = JSON.parse(read('packages/server/package.json'))
  expect(container).toContain(`/sluice/packages/server/${manifest.bin.sluice.slice(2)} /usr/local/bin/sluice`)
  expect(container).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m)
  expect(container).toMatch(/^HEALTHCHECK .* CMD \["sluice", "health"\]$/m)
  expect(container).toMatch(/^ENTRYPOINT \["sluice"\]\nCMD \["serve"\]$/m)
  const set = [...container.matchAll(/\b(SLUICE_[A-Z_]+)=/g)].map(([, name]) => name)
  expect(set.length).toBeGreaterThan(0)
  expect(set.filter((name) => !variables.includes(name))).toEqual([])
})

test('compose has Redis that keeps its data and two instances that use it', () => {
  const { redis, 'sluice-1': one, 'sluice-2': two } = compose.services
  for (const { build, command, read_only, cap_drop, volumes } of [one, two]) {
    expect(existsSync(join(root, 'deploy', build.context, build.dockerfile))).toBe(true)
    expect([read_only, cap_drop]).toEqual([true, ['ALL']])
    expect(command.filter((word: string) => word.startsWith('--') && !knownFlags.includes(word))).toEqual([])
    expect(command).toContain('redis://redis:6379')
    expect(volumes[0]).toMatch(/:\/data$/)
  }
  expect(redis.command.join(' ')).toMatch(/--appendonly yes --maxmemory-policy noeviction/)
})

test('the unit names flags and variables that exist, and waits longer for the end than the service does', () => {
  const [, command] = /^ExecStart=(.+)$/m.exec(unit) ?? []
  expect(command.split(' ').slice(1)).toEqual(['serve', '--config', '/etc/sluice/sluice.yaml'])
  const set = [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name)
  expect(set).toEqual(['SLUICE_DATA_FOLDER'])
  expect(set.filter((name) => !variables.includes(name))).toEqual([])
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(12)
})

const systemd = spawnSync('systemd-analyze', ['--version'])

test.skipIf(systemd.status !== 0)('systemd takes the unit, and finds little that it could still reach', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-unit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'sluice.service')
  writeFileSync(file, unit.replace('/usr/local/bin/sluice', '/bin/true'))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const security = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file], { encoding: 'utf8' })
  expect(security.stdout).toMatch(/Overall exposure level for sluice.service: 1\.\d OK/)
  expect(security.status).toBe(0)
})
