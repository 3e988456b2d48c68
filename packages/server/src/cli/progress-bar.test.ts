import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { writtenTo } from '../../test/written-to.ts'
import { ProgressBar } from './progress-bar.ts'
import type { Terminal } from './terminal.ts'

function barOn(isTTY: boolean) {
  const stderr = Object.assign(new PassThrough(), { isTTY })
  const bar = new ProgressBar({ stderr } as unknown as Terminal, 'policies', 1000)
  return { bar, written: () => writtenTo(stderr) }
}

test('on a terminal it shows the progress, and is removed at the end', () => {
  const { bar, written } = barOn(true)
  bar.add(500)
  expect(written()).toMatch(/^\r█{12}░{12} 500 of 1,000 policies, 50 %, \d+ s left/)
  bar.add(500)
  expect(written()).toContain('1,000 of 1,000 policies, 100 %, 0 s left')
  bar.end()
  expect(written()).toBe('\r\x1b[K')
})

test('without a terminal it prints nothing', () => {
  const { bar, written } = barOn(false)
  bar.add(1000)
  bar.end()
  expect(written()).toBe('')
})
