import { expect, test } from 'vitest'
import { ServerError } from '../../errors.ts'
import { postgresTrouble } from './postgres-answers.ts'

const reply = (code: string) => Object.assign(new Error('reason'), { code })

test.each([
  ['28P01', 'PostgreSQL refuses the login (reason)'],
  ['28000', 'PostgreSQL refuses the login (reason)'],
  ['3D000', 'PostgreSQL refuses the login (reason)'],
  ['42501', 'PostgreSQL refuses the login (reason)'],
  ['53300', 'PostgreSQL refuses (reason)'],
  ['25006', 'PostgreSQL refuses (reason)'],
  ['57P01', 'PostgreSQL does not answer'],
  ['57P03', 'PostgreSQL does not answer'],
  ['08006', 'PostgreSQL does not answer'],
  ['ECONNREFUSED', 'PostgreSQL does not answer'],
])('an error with the code %s', (code, trouble) => {
  expect(postgresTrouble(reply(code))).toBe(trouble)
  expect(postgresTrouble(new ServerError('ERR_DATA_WRITE', 'it failed', { cause: reply(code) }))).toBe(trouble)
})

test('errors of TLS say what to change', () => {
  const failed = (message: string, facts: object = {}) => postgresTrouble(Object.assign(new Error(message), facts))
  expect(failed('The server does not support SSL connections')).toMatch(/offers no TLS.*sslmode.*turn ssl on.*sslmode=disable/)
  for (const code of [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ]) {
    expect(failed('reason', { code })).toMatch(/certificate of PostgreSQL is not accepted \(reason\).*sslrootcert/)
  }
  expect(failed("ENOENT: no such file, open 'ca.pem'", { code: 'ENOENT', syscall: 'open' })).toMatch(/cannot be read.*ca\.pem/)
})

test('an error without a code, and a socket that does not exist', () => {
  const noSocket = Object.assign(new Error('reason'), { code: 'ENOENT', syscall: 'connect' })
  expect(postgresTrouble(noSocket)).toBe('PostgreSQL does not answer')
  expect(postgresTrouble(new Error('timeout'))).toBe('PostgreSQL does not answer')
})
