import { expect, test } from 'vitest'
import { ApiError } from './call.ts'

test('a problem is found at its path, and at the value that it is a part of', () => {
  const error = new ApiError(400, 'ERR_INPUT', 'two problems', [
    { at: 'name', message: 'too long' },
    { at: 'rules[1].limit', message: 'too high' },
  ])
  const paths = ['name', 'rules[1].limit', 'rules[1]', 'rules[0]', 'rules[1].lim', 'nam', 'client']
  expect(paths.map((path) => error.messageAt(path))).toEqual([
    'too long',
    'too high',
    'too high',
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
