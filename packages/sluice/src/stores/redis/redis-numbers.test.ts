import { expect, test } from 'vitest'
import { Numbers } from './redis-numbers.ts'

test('numbers are read one after another, to the last digit', () => {
  const numbers = new Numbers('[5,-1,9007199254740991]')
  expect(numbers.problem()).toBeUndefined()
  expect([numbers.next(), numbers.next(), numbers.next()]).toEqual([5, -1, Number.MAX_SAFE_INTEGER])
})

test('what went wrong stands where numbers would, and is read once', () => {
  const numbers = new Numbers(Buffer.from('["WRONGTYPE (sluice:1:{\u{1F600}}:x)",7]'))
  expect(numbers.problem()?.message).toBe('WRONGTYPE (sluice:1:{\u{1F600}}:x)')
  expect([numbers.problem(), numbers.next()]).toEqual([undefined, 7])
})

test('a reply that is no list of the program is refused; one that is too short is a problem', () => {
  for (const reply of [undefined, null, 'OK', '5', '{}']) expect(() => new Numbers(reply)).toThrow()
  expect(new Numbers('[]').problem()).toBeInstanceOf(Error)
})
