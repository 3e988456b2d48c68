// A real Envoy for tests: its configuration in a temporary folder, on loopback, stopped by its process id.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findEnvoy } from '../../scripts/find-envoy.mjs'
import { until } from './redis-server.mjs'
import { ServerProcess } from './server-process.mjs'

/** A configuration in the guide, as people copy it: the whole one, or what TLS adds to its last cluster. */
export function configurationOfGuide(name = 'envoy') {
  const guide = readFileSync(new URL('../../docs/guides/envoy.md', import.meta.url), 'utf8')
  const [, found] = guide.split(`\`\`\`yaml ${name}\n`)
  if (found === undefined) throw new Error(`the guide has no configuration ${name}`)
  return found.slice(0, found.indexOf('```'))
}

export class EnvoyServer extends ServerProcess {
  /** @param {number} port of its listener */
  constructor(port) {
    super('envoy')
    this.port = port
    this.printed = ''
  }

  get address() {
    return `http://127.0.0.1:${this.port}`
  }

  /** Resolves when Envoy listens. @param {string} configuration YAML */
  async start(configuration) {
    const file = join(this.folder, 'envoy.yaml')
    writeFileSync(file, configuration)
    const program = findEnvoy()
    if (program === undefined) throw new Error('there is no Envoy')
    const args = ['-c', file, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'warn']
    const child = this.launch(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr?.on('data', (text) => {
      this.printed = `${this.printed}${text}`.slice(-20_000)
    })
    await until('Envoy', async () => {
      if (child.exitCode !== null) return true
      await fetch(this.address, { method: 'HEAD' })
      return true
    })
    if (child.exitCode !== null) throw new Error(`Envoy has ended: ${this.printed}`)
  }
}
