import { describe, expect, test } from 'vitest'
import { hidePasswords, readStore } from './store-address.ts'

describe('store addresses', () => {
  test.each([
    ['memory:', { kind: 'memory' }],
    ['memory', { kind: 'memory' }],
    ['redis://localhost:6379', { kind: 'redis', urls: ['redis://localhost:6379'] }],
    ['rediss://u:p@a:1/2', { kind: 'redis', urls: ['rediss://u:p@a:1/2'] }],
    ['redis://a:1, redis://b:2', { kind: 'redis', urls: ['redis://a:1', 'redis://b:2'] }],
    ['redis-sentinel://:p@a:1/main', { kind: 'redis-sentinel', urls: ['redis://:p@a:1'], service: 'main' }],
    [
      'rediss-sentinel://a/my%20db,rediss-sentinel://b/my%20db',
      { kind: 'redis-sentinel', urls: ['rediss://a', 'rediss://b'], service: 'my db' },
    ],
    ['postgres://u:p@db:5432/limits', { kind: 'postgres', url: 'postgres://u:p@db:5432/limits' }],
    ['postgresql://db/limits?sslmode=require', { kind: 'postgres', url: 'postgresql://db/limits?sslmode=require' }],
    ['postgres:///limits?host=/run/postgresql', { kind: 'postgres', url: 'postgres:///limits?host=/run/postgresql' }],
    ['sqlite:limits.db', { kind: 'sqlite', path: 'limits.db' }],
    ['sqlite:/var/lib/limits.db', { kind: 'sqlite', path: '/var/lib/limits.db' }],
    ['sqlite:///var/lib/limits.db', { kind: 'sqlite', path: '/var/lib/limits.db' }],
  ])('%s', (text, address) => {
    expect(readStore(text)).toEqual(address)
  })

  test.each([
    '',
    'redis',
    'redis:',
    'localhost:6379',
    'http://a',
    'redis://a,',
    'redis://a,rediss://b',
    'redis-sentinel://a',
    'redis-sentinel://a/x,redis-sentinel://b/y',
    'memory:,redis://a',
    'postgres:',
    'postgres:limits',
    'postgres:///limits',
    'postgres://u:%ff@db/limits',
    'postgres://a,redis://b',
    'sqlite:',
    'sqlite://limits.db',
    'sqlite::memory:',
    'sqlite:a\0b',
  ])('not %s', (text) => {
    expect(readStore(text)).toBeUndefined()
  })

  test('are shown without passwords', () => {
    expect(hidePasswords('redis://user:pa:ss@a:1/2,rediss://:secret@b')).toBe('redis://user:***@a:1/2,rediss://:***@b')
    expect(hidePasswords('redis://a:6379')).toBe('redis://a:6379')
    expect(hidePasswords('redis:user:secret@a:1,b:2')).toBe('redis:user:***@a:1,b:2')
    expect(hidePasswords('postgres:user:secret@db/limits')).toBe('postgres:user:***@db/limits')
    expect(hidePasswords('postgres://user:a,b/c:d@e@db/limits')).toBe('postgres://user:***@db/limits')
    expect(hidePasswords('postgres://db/limits?user=u&password=a&sslmode=require')).toBe(
      'postgres://db/limits?user=u&password=***&sslmode=require',
    )
    expect(hidePasswords('sqlite:a.db')).toBe('sqlite:a.db')
  })
})
