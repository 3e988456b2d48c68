import { expect, test } from 'vitest'
import type { Call, Operation } from '../../core/call.ts'
import { readAnswers } from './redis-reply.ts'

function call(operation: Operation, charges = 1): Call {
  return { operation, charges: Array.from({ length: charges }, (_, rule) => ({ rule, key: 'k', amount: 1 })) }
}

test('each call gets all of its figures, to the last digit', () => {
  const calls = [call('hit', 2), call('get'), call('timedHit'), call('reset', 3), call('peek')]
  expect(readAnswers('1,2,3,4,5,6,9007199254740991,1,0,3,99,0,7,-1,9', calls)).toEqual([
    [1, 2, 3, 4, 5, 6],
    [Number.MAX_SAFE_INTEGER],
    [1, 0, 3, 99],
    [0],
    [7, Number.POSITIVE_INFINITY, 9],
  ])
})

test('an error message takes the position of the figures, and fails its call alone', () => {
  const reply = Buffer.from('"WRONGTYPE (sluice:1:{\u{1F600}}:x)",7')
  expect(readAnswers(reply, [call('hit', 2), call('get')])).toEqual([
    expect.objectContaining({ code: 'ERR_STORE_FATAL', message: expect.stringContaining('WRONGTYPE (sluice:1:{\u{1F600}}:x)') }),
    [7],
  ])
})

test('a reply that is not a list of figures, and one with too many or too few, is refused', () => {
  for (const reply of [
    undefined,
    null,
    'OK',
    '5',
    '{}',
    '1,2',
    '1.5,0,3',
    '1,0,3,',
    ',1,0',
    '1,,3',
    '1,-,3',
    '1,-5,3',
    '1,0-1,3',
    '1,0,x',
  ]) {
    expect(() => readAnswers(reply, [call('hit')]), String(reply)).toThrow()
  }
  expect(() => readAnswers('1,0,3,4', [call('hit')])).toThrow()
  expect(() => readAnswers('', [call('get')])).toThrow()
})
