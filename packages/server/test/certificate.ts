// Self-signed certificates for tests of TLS.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.ts'

/** `subject` is, for example, `IP:127.0.0.1` or `DNS:sluice.example`. */
export function certificate(subject = 'IP:127.0.0.1'): { readonly cert: string; readonly key: string } {
  const folder = temporaryFolder()
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${subject}`]
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...names], { stdio: 'ignore' })
  return { cert, key }
}
