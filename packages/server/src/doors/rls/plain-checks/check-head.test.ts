import { expect, test } from 'vitest'
import { plainTimeoutMs } from './check-head.ts'

const HEAD = { ':method': 'POST', 'content-type': 'application/grpc' }

test.each([
  [{}, Number.POSITIVE_INFINITY],
  [{ 'content-type': 'application/grpc+proto', 'grpc-encoding': 'identity' }, Number.POSITIVE_INFINITY],
  [{ 'grpc-timeout': '20m' }, 20],
  [{ 'grpc-timeout': '2S' }, 2000],
  [{ 'grpc-timeout': '1M' }, 60_000],
  [{ 'grpc-timeout': '1H' }, 3_600_000],
  [{ 'grpc-timeout': '1999u' }, 1],
  [{ 'grpc-timeout': '99999999n' }, 99],
  [{ 'grpc-timeout': '0m' }, 0],
  [{ 'grpc-timeout': '596H' }, 2_145_600_000],
  [{ 'grpc-timeout': '597H' }, Number.POSITIVE_INFINITY],
  [{ 'grpc-timeout': '99999999H' }, Number.POSITIVE_INFINITY],
])('a check with %j has %d ms', (fields, timeoutMs) => {
  expect(plainTimeoutMs({ ...HEAD, ...fields })).toBe(timeoutMs)
})

test.each([
  { ':method': 'GET' },
  { 'content-type': 'application/grpc+json' },
  { 'content-type': 'application/grpc;x' },
  { 'grpc-encoding': 'gzip' },
  { 'grpc-encoding': 'identity, gzip' },
  { 'grpc-timeout': '' },
  { 'grpc-timeout': '20' },
  { 'grpc-timeout': 'm' },
  { 'grpc-timeout': '-1m' },
  { 'grpc-timeout': '123456789m' },
  { 'grpc-timeout': '20m, 20m' },
])('a call with %j has another form', (fields) => {
  expect(plainTimeoutMs({ ...HEAD, ...fields })).toBeUndefined()
})
