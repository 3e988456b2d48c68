import { expect, test } from 'vitest'
import { isServerRefusal, postgresErrorKind } from './postgres-errors.ts'

test.each([
  ['40P01', 'deadlock', 'refused', true],
  ['40001', 'serialization failure', 'refused', true],
  ['55P03', 'lock timeout', 'refused', true],
  ['57014', 'statement timeout', 'refused', true],
  ['25006', 'read-only server', 'refused', true],
  ['25P02', 'failed transaction', 'refused', true],
  ['53100', 'disk full', 'refused', true],
  ['53200', 'out of memory', 'refused', true],
  ['53300', 'too many connections', 'refused', false],
  ['57P03', 'starting up', 'refused', false],
  ['CONNECT_TIMEOUT', 'not connected in time', 'refused', false],
  ['42501', 'missing right', 'fatal', true],
  ['42P01', 'missing table', 'fatal', true],
  ['28P01', 'wrong password', 'fatal', true],
  ['3D000', 'missing database', 'fatal', true],
  ['57P01', 'terminated', undefined, false],
  ['57P02', 'crash', undefined, false],
  ['25P03', 'idle for too long', undefined, false],
  ['08006', 'connection failure', undefined, false],
  ['08P01', 'lost by PgBouncer', undefined, false],
  ['40003', 'completion unknown', undefined, false],
  ['XX000', 'internal error', undefined, false],
  ['58030', 'io error', undefined, false],
  ['EPIPE', 'broken pipe', undefined, false],
  ['ECONNRESET', 'reset', undefined, false],
  ['CONNECTION_CLOSED', 'closed', undefined, false],
])('%s, %s, is %s', (code, _, kind, isUsable) => {
  const error = Object.assign(new Error('x'), { code })
  expect(postgresErrorKind(error)).toBe(kind)
  expect(isServerRefusal(error)).toBe(isUsable)
})

test.each([[undefined], [null], ['40001'], [new Error('Connection terminated unexpectedly')], [{ code: 40001 }]])(
  '%s has no state',
  (error) => {
    expect(postgresErrorKind(error)).toBeUndefined()
    expect(isServerRefusal(error)).toBe(false)
  },
)
