// Hints below an error: the next thing to try.

interface Failure {
  readonly code: string
  readonly cause?: unknown
}

/** Codes for refused certificates: those of OpenSSL, and Node's own for a name that does not match. */
const CERTIFICATE = /CERT|SIGNATURE|ISSUER/

/** Returns undefined if there is no hint. */
export function hintFor({ code, cause }: Failure): string | undefined {
  if (code === 'ERR_UNAUTHENTICATED') return 'Give the key in SLUICE_API_KEY or in a file with --key-file.'
  if (code === 'ERR_KEY_LAST') {
    return 'sluice keys create <name> --scope admin creates another; --force revokes this one anyway.'
  }
  if (code === 'ERR_DEADLINE') return 'Give it more time with --timeout.'
  const reason = (cause as { code?: unknown } | undefined)?.code
  const why = typeof reason === 'string' ? reason : ''
  if (code === 'ERR_LOST') {
    return why === 'ECONNRESET' ? 'If the service uses TLS, its address begins with https://.' : undefined
  }
  if (code !== 'ERR_UNREACHABLE') return undefined
  if (why === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'Use a host name that is in the certificate.'
  if (CERTIFICATE.test(why)) {
    return 'The certificate is not trusted. Put the certificate of its authority into a file, and name that file in NODE_EXTRA_CA_CERTS.'
  }
  if (why === 'EPROTO' || why.startsWith('ERR_SSL') || why === 'ECONNRESET') {
    return 'The TLS handshake failed. If the service does not use TLS, its address begins with http://.'
  }
  if (why === 'ENOTFOUND' || why === 'EAI_AGAIN') return 'Is the host name right?'
  return 'Is it running? Start it with: sluice serve'
}
