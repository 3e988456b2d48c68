import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { writtenTo } from '../../test/written-to.ts'
import { LiveScreen } from './live-screen.ts'
import type { Terminal } from './terminal.ts'

function fakeTerminal() {
  const raw: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => raw.push(isRaw) })
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 20, rows: 3 })
  const terminal: Terminal = { stdin, stdout, stderr: stdout, env: {}, exitCode: 0 }
  return { terminal, stdin, stdout, raw, written: () => writtenTo(stdout) }
}

test('it draws at most as many lines as the terminal has, and restores the terminal', () => {
  const { terminal, raw, written } = fakeTerminal()
  const screen = new LiveScreen(terminal)
  screen.draw((columns, rows) => [`${columns} x ${rows}`, 'b', 'c', 'd'])
  screen.close()
  expect(written()).toBe('\x1b[?1049h\x1b[?25l\x1b[H20 x 3\x1b[K\r\nb\x1b[K\r\nc\x1b[K\x1b[J\x1b[?25h\x1b[?1049l')
  expect(raw).toEqual([true, false])
})

test.each(['q', '\x03', '\x1b'])('%j leaves at once', async (key) => {
  const { terminal, stdin } = fakeTerminal()
  const screen = new LiveScreen(terminal)
  const paused = screen.pause(60_000)
  stdin.write('x')
  stdin.write('\x1b[A')
  await new Promise(setImmediate)
  expect(screen.isLeft).toBe(false)
  stdin.write(key)
  await paused
  expect(screen.isLeft).toBe(true)
  screen.close()
})

test('a terminal is redrawn when its size changes', async () => {
  const { terminal, stdout } = fakeTerminal()
  const screen = new LiveScreen(terminal)
  const paused = screen.pause(60_000)
  stdout.emit('resize')
  await paused
  expect(screen.isLeft).toBe(false)
  screen.close()
})
