// Progress on stderr while the rounds run: one line that is redrawn on a terminal, otherwise one line per group.

/** @import { Step } from './rounds.mjs' */

const BAR_WIDTH = 24

export function showProgress(stream = process.stderr) {
  const startMs = performance.now()
  return stream.isTTY ? redrawnLine(stream, startMs) : lineAGroup(stream, startMs)
}

/**
 * @param {NodeJS.WriteStream} stream
 * @param {number} startMs
 */
function redrawnLine(stream, startMs) {
  // The line is cut to the width of the terminal, because a wrapped line cannot be cleared.
  const redraw = (/** @type {string} */ line) => stream.write(`\r\x1b[K${line.slice(0, stream.columns - 1)}`)
  return {
    onStep: (/** @type {Step} */ step) =>
      void redraw(`${drawBar(step)} ${timeLeft(step, startMs)} ${describe(step)}, ${step.entrant}`),
    end: () => void redraw(''),
  }
}

/**
 * @param {NodeJS.WriteStream} stream
 * @param {number} startMs
 */
function lineAGroup(stream, startMs) {
  let last = ''
  return {
    onStep: (/** @type {Step} */ step) => {
      const line = describe(step)
      if (line !== last) stream.write(`${step.done}/${step.total} ${timeLeft(step, startMs)} ${line}\n`)
      last = line
    },
    end: () => {},
  }
}

/** @param {Step} step */
function drawBar({ done, total }) {
  const filled = Math.round((done / total) * BAR_WIDTH)
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${done}/${total}`
}

/** @param {Step} step */
function describe({ round, rounds, task, group }) {
  return `round ${round} of ${rounds}: ${task}, ${group}`
}

/**
 * @param {Step} step
 * @param {number} startMs
 */
function timeLeft({ done, total }, startMs) {
  if (done === 0) return '(0:00)'
  const elapsedMs = performance.now() - startMs
  return `(${minutes(elapsedMs)}, ~${minutes((elapsedMs / done) * (total - done))} left)`
}

/** @param {number} ms */
function minutes(ms) {
  const seconds = Math.round(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
