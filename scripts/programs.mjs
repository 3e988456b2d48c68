// Programs that tests and benches run, and the packages that contain them.

import { spawnSync } from 'node:child_process'
import { findChromium } from './find-chromium.mjs'
import { findPostgres } from './find-postgres.mjs'

export const PROGRAMS = [
  {
    needs: 'redis-server 7.0 or newer',
    commands: ['redis-server', 'redis-cli', 'redis-benchmark'],
    isInstalled: () => Number(/v=(\d+)/.exec(outputOf('redis-server', '--version'))?.[1]) >= 7,
    debian: 'redis-server',
    brew: 'redis',
  },
  {
    needs: 'Python 3 with its module venv',
    commands: ['python3'],
    isInstalled: () => outputOf('python3', '-c', 'import ensurepip, venv; print("yes")').includes('yes'),
    debian: 'python3-venv',
    brew: 'python',
  },
  {
    needs: 'nginx with its auth_request module',
    commands: ['nginx'],
    isInstalled: () => outputOf('nginx', '-V').includes('http_auth_request_module'),
    debian: 'nginx',
    brew: 'nginx',
  },
  {
    needs: 'curl',
    commands: ['curl'],
    isInstalled: () => outputOf('curl', '--version').startsWith('curl'),
    debian: 'curl',
    brew: 'curl',
  },
  {
    needs: 'openssl',
    commands: ['openssl'],
    isInstalled: () => outputOf('openssl', 'version').includes('SSL'),
    debian: 'openssl',
    brew: 'openssl',
  },
  {
    needs: 'Chromium, or its path in SLUICE_CHROMIUM',
    commands: ['chromium'],
    isInstalled: () => findChromium() !== undefined,
    debian: 'chromium',
    brew: 'chromium',
  },
  {
    needs: 'PostgreSQL 15 or newer',
    commands: ['initdb', 'postgres'],
    isInstalled: () => findPostgres() !== undefined,
    debian: 'postgresql',
    brew: 'postgresql',
  },
  {
    needs: 'PgBouncer',
    commands: ['pgbouncer'],
    isInstalled: () => outputOf('pgbouncer', '--version').startsWith('PgBouncer'),
    debian: 'pgbouncer',
    brew: 'pgbouncer',
  },
  {
    needs: 'MariaDB 10.6 or newer',
    commands: ['mariadbd', 'mariadb-install-db'],
    isInstalled: () => outputOf('mariadbd', '--version').includes('MariaDB'),
    debian: 'mariadb-server',
    brew: 'mariadb',
  },
  {
    needs: 'memcached 1.6 or newer',
    commands: ['memcached'],
    isInstalled: () => outputOf('memcached', '--version').startsWith('memcached'),
    debian: 'memcached',
    brew: 'memcached',
  },
  {
    needs: 'promtool, which comes with Prometheus',
    commands: ['promtool'],
    isInstalled: () => outputOf('promtool', '--version').startsWith('promtool'),
    debian: 'prometheus',
    brew: 'prometheus',
  },
]

/**
 * The output of a program. Empty if the program is missing or fails.
 * @param {string} program
 * @param {...string} args
 */
export function outputOf(program, ...args) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? `${stdout}${stderr}` : ''
}
