import { expect, test } from 'vitest'
import { type PostgresClient, postgresClient } from './postgres-client.ts'

test.each([
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['an address', 'postgres://localhost', '"postgres://localhost"'],
  ['a promise', Promise.resolve(), 'a promise: await it'],
  ['a plain object', { query() {} }, 'an object'],
  ['postgres.js without reserve', Object.assign(() => {}, { unsafe() {} }), 'a function'],
])('refuses %s, and says what it takes', (_, client, got) => {
  expect(() => postgresClient(client as unknown as PostgresClient)).toThrow(
    expect.objectContaining({ code: 'ERR_OPTION', option: 'client', message: expect.stringMatching(/pg.*postgres\.js.*PGlite/) }),
  )
  expect(() => postgresClient(client as unknown as PostgresClient)).toThrow(got)
})
