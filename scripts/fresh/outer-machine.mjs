// Settings of this machine that a root needs to reach packages: apt's sources, npm's registry, certificate authorities, host
// names. They are read at run time and written only into the root, so that the repository names no host.

import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const AUTHORITIES = '/etc/fresh/authorities.pem'
const NPM_USER_CONFIG = '/etc/fresh/npmrc-user'
const NPM_GLOBAL_CONFIG = '/etc/fresh/npmrc-global'

/** Network settings. No other variable of this machine enters the root. */
const NETWORK_VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy'].flatMap((name) => [name, name.toUpperCase()])

/** The name of this machine's Debian or Ubuntu release, such as `bookworm`. Undefined on other systems. */
export function suite() {
  if (!existsSync('/etc/os-release')) return undefined
  return /^VERSION_CODENAME="?(\w+)"?$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1]
}

/**
 * The files with apt's sources of this release. Sources of other vendors name no release, and are left out.
 * @param {string} release
 */
export function aptSources(release) {
  const folder = '/etc/apt/sources.list.d'
  const parts = existsSync(folder) ? readdirSync(folder).filter((name) => /\.(list|sources)$/.test(name)) : []
  return ['/etc/apt/sources.list', ...parts.map((name) => join(folder, name))].filter(
    (file) => existsSync(file) && new RegExp(`^[^#]*\\b${release}\\b`, 'm').test(readFileSync(file, 'utf8')),
  )
}

/** Apt's settings for downloads, such as a proxy, as the text of a configuration file. */
export function aptDownloads() {
  return outputOf('apt-config', 'dump', '--no-empty', '--format', '%f "%v";%n', 'Acquire')
}

/**
 * Writes the settings for npm, TLS and names into a root.
 * @param {string} root
 * @returns {Record<string, string>} the environment for programs in the root
 */
export function carryIn(root) {
  for (const file of ['/etc/resolv.conf', '/etc/hosts']) {
    if (existsSync(file)) writeFileSync(join(root, file), readFileSync(file))
  }
  /** @type {Record<string, string>} */
  const environment = { HOME: '/root', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' }
  for (const name of NETWORK_VARIABLES) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  for (const [option, file] of [
    ['userconfig', NPM_USER_CONFIG],
    ['globalconfig', NPM_GLOBAL_CONFIG],
  ]) {
    const outer = outputOf('npm', 'config', 'get', option).trim()
    if (!existsSync(outer)) continue
    mkdirSync(dirname(join(root, file)), { recursive: true })
    cpSync(outer, join(root, file))
    environment[`npm_config_${option}`] = file
  }
  const registry = outputOf('npm', 'config', 'get', 'registry').trim()
  if (registry !== '') environment.npm_config_registry = registry
  const authorities = [outputOf('npm', 'config', 'get', 'cafile').trim(), process.env.NODE_EXTRA_CA_CERTS ?? '']
  for (const file of new Set(authorities.filter((path) => existsSync(path)))) {
    mkdirSync(dirname(join(root, AUTHORITIES)), { recursive: true })
    appendFileSync(join(root, AUTHORITIES), readFileSync(file))
    environment.npm_config_cafile = AUTHORITIES
    environment.NODE_EXTRA_CA_CERTS = AUTHORITIES
  }
  return environment
}

/**
 * Standard output of a program. Empty if it fails.
 * @param {string} program
 * @param {...string} args
 */
function outputOf(program, ...args) {
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? stdout : ''
}
