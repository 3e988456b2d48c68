// Self-signed certificates for tests of TLS.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { temporaryFolder } from './temporary-folder.ts'

/** `subject` is, for example, `IP:127.0.0.1` or `DNS:sluice.example`. */
export function certificate(subject = 'IP:127.0.0.1,DNS:localhost'): { readonly cert: string; readonly key: string } {
  const folder = temporaryFolder()
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${subject}`]
  execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...names], { stdio: 'ignore' })
  return { cert, key }
}

/** Makes an authority, and a certificate that it signs. */
export function clientCertificate(): { readonly ca: string; readonly cert: string; readonly key: string } {
  const authority = certificate('DNS:authority')
  const folder = temporaryFolder()
  const [request, key, cert] = ['request.pem', 'key.pem', 'cert.pem'].map((name) => join(folder, name))
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  execFileSync('openssl', ['req', ...kind, '-keyout', key, '-out', request, '-subj', '/CN=envoy'], { stdio: 'ignore' })
  const signed = ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial', '-days', '2']
  execFileSync('openssl', ['x509', '-req', '-in', request, '-out', cert, ...signed], { stdio: 'ignore' })
  return { ca: authority.cert, cert, key }
}
