// The lock file names every package and its hash, and no registry host. It fits the manifests, and the oldest supported Node.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { lockEntries } from '../scripts/lock-entries.mjs'

const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'))

interface Entry {
  readonly integrity?: string
  readonly resolved?: string
  readonly optional?: boolean
  readonly dev?: boolean
  readonly engines?: { readonly node?: string }
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}
const entries: readonly { readonly name: string; readonly entry: Entry }[] = lockEntries(lock)

/**
 * Binaries of tools for platforms other than Linux with glibc. The registry did not have them when the lock file was made.
 * Nothing that is published or deployed contains them. `npm run lock` adds their hashes if the registry has them.
 */
const UNKNOWN = /^@biomejs\/cli-(?!linux-(x64|arm64)$)|^@rolldown\/binding-(?!linux-x64-gnu$)/

test('every package has a hash that it is checked against', () => {
  expect(entries.length).toBeGreaterThan(300)
  const without = entries.filter(({ entry }) => !entry.integrity?.startsWith('sha512-'))
  const isForElsewhere = ({ name, entry }: (typeof entries)[number]) =>
    entry.optional === true && (entry.os !== undefined || entry.cpu !== undefined) && UNKNOWN.test(name)
  expect(without.filter((each) => !isForElsewhere(each)).map(({ name }) => name)).toEqual([])
})

test('no package names the registry that it came from', () => {
  expect(entries.filter(({ entry }) => entry.resolved !== undefined).map(({ name }) => name)).toEqual([])
})

const server = JSON.parse(readFileSync(new URL('../packages/server/package.json', import.meta.url), 'utf8'))
const library = JSON.parse(readFileSync(new URL('../packages/sluice/package.json', import.meta.url), 'utf8'))

test('the service asks for the version of the library that it was tested with', () => {
  expect(server.dependencies.sluice).toBe(`^${library.version}`)
  expect(lock.packages['packages/server'].dependencies).toEqual(server.dependencies)
})

// Newer versions of light-my-request need a version of cookie that warns on Node 20. Fastify accepts any version 6. The lock file
// and overrides do not reach those who install the package, but a dependency of the package does.
test('whoever installs the service gets packages for every Node that it supports', () => {
  expect(server.dependencies['light-my-request']).toBe(lock.packages['node_modules/light-my-request'].version)
  const [, oldest] = /^>=(\d+)/.exec(server.engines.node) ?? []
  const tooNew = entries.filter(({ entry: { dev, engines } }) => {
    const [, least] = /^>=? ?(\d+)/.exec(engines?.node ?? '') ?? []
    return dev !== true && Number(least ?? 0) > Number(oldest)
  })
  expect(tooNew.map(({ name }) => name)).toEqual([])
})
