// A real nginx for tests: its own configuration in a temporary folder, on loopback, stopped by its process id.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './redis-server.mjs'

/**
 * Starts nginx with the given servers.
 * @param {number} port a port of one of the servers
 * @param {string} servers the content of `http { … }`
 */
export async function startNginx(port, servers) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-nginx-'))
  const isRoot = process.getuid?.() === 0
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`)
  writeFileSync(
    join(folder, 'nginx.conf'),
    // Workers that drop root's rights could not use the folder.
    `${isRoot ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log;
events { worker_connections 256; }
http {
access_log off;
${temporary.join('\n')}
${servers}
}
`,
  )
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')])
  let printed = ''
  child.stderr.on('data', (text) => {
    printed += text
  })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    }
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await until('nginx', async () => {
      if (child.exitCode !== null) throw new Error('nginx has ended')
      await fetch(`http://127.0.0.1:${port}/`)
      return true
    })
  } catch (error) {
    await stop()
    throw new Error(`nginx did not start: ${printed}`, { cause: error })
  }
  return { stop }
}
