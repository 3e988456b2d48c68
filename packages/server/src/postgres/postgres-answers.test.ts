import { expect, test } from 'vitest'
import { ServerError } from '../errors.ts'
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

test('an error without a code', () => {
  expect(postgresTrouble(new Error('timeout'))).toBe('PostgreSQL does not answer')
})
