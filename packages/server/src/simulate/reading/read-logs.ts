// Reads logs one after the other, in the order given, and passes their requests on.
// Invariant: no line ends the reading. Lines that cannot be read are counted, and the first few are kept with their place.

import { blankEntry, EntryReader, type FieldMapping, type LogEntry } from '../forms/entry-reader.ts'
import { type FormFacts, type FormOptions, recognisedForm } from '../forms/forms.ts'
import { textOf } from '../forms/log-bytes.ts'
import { NO_REQUEST } from '../forms/log-form.ts'
import { LogLines } from './log-lines.ts'
import type { OpenLog } from './open-logs.ts'
import { Reordered } from './reordered.ts'

export interface ReadOptions extends FormOptions {
  /** Default: recognised by the first line. */
  readonly form?: FormFacts | undefined
  readonly mapping: FieldMapping
  /** Entries are put in order if they are out of order by at most this time. */
  readonly reorderMs: number
  /** Entries before and from these times are left out. */
  readonly sinceMs: number
  readonly untilMs: number
  readonly onBytes: (bytes: number) => void
}

/** A line that cannot be read. */
export interface LineProblem {
  readonly file: string
  readonly line: number
  readonly problem: string
}

/** Counts of the lines of all logs. */
export interface LineCounts {
  files: number
  lines: number
  unreadable: number
  tooLong: number
  outside: number
  readonly problems: LineProblem[]
  /** Files that ended before their end, such as a damaged gzip file, with the reason. */
  readonly cutOff: { readonly file: string; readonly reason: string }[]
  /** Name of the form; undefined if no line was read. */
  form: string | undefined
}

/** Maximum number of problems that are kept. */
export const MOST_PROBLEMS = 5

/** The form of a log was not recognised. */
export class UnknownFormError extends Error {
  override readonly name = 'UnknownFormError'
}

/** Reads all logs. Rejects with FieldError or UnknownFormError before the first entry, if the mapping or the form does not fit. */
export async function readLogs(
  logs: readonly OpenLog[],
  options: ReadOptions,
  onEntry: (entry: LogEntry) => void,
): Promise<LineCounts> {
  const counts = blankCounts(logs.length, options.form?.name)
  const { sinceMs, untilMs } = options
  const entry = blankEntry()
  const ordered = new Reordered(options.reorderMs, onEntry)
  let file = ''
  let reader = options.form && new EntryReader(options.form, options.mapping, options)
  const lines = new LogLines((bytes, from, to, number) => {
    counts.lines += 1
    if (reader === undefined) {
      if (from === to) return
      reader = recognisedReader(textOf(bytes, from, to), file, options)
      counts.form = reader.form.name
    }
    const problem = reader.read(bytes, from, to, entry)
    if (problem !== undefined) {
      if (problem !== NO_REQUEST) noteProblem(counts, { file, line: number, problem })
    } else if (entry.timeMs < sinceMs || entry.timeMs >= untilMs) {
      counts.outside += 1
    } else {
      ordered.add(entry)
    }
  })
  for (const log of logs) {
    file = log.name
    reader?.begin()
    try {
      for await (const chunk of log.chunks(options.onBytes)) lines.add(chunk)
    } catch (error) {
      if (!isDamaged(error)) throw error
      counts.cutOff.push({ file, reason: error.message })
    }
    lines.end()
  }
  ordered.end()
  counts.tooLong = lines.tooLong
  counts.lines += lines.tooLong
  return counts
}

function blankCounts(files: number, form: string | undefined): LineCounts {
  return { files, lines: 0, unreadable: 0, tooLong: 0, outside: 0, problems: [], cutOff: [], form }
}

function recognisedReader(line: string, file: string, options: ReadOptions): EntryReader {
  const form = recognisedForm(line)
  if (form === undefined) throw new UnknownFormError(`the form of ${file} is not recognised: name it with --format`)
  const reader = new EntryReader(form, options.mapping, options)
  reader.begin()
  return reader
}

function noteProblem(counts: LineCounts, problem: LineProblem): void {
  counts.unreadable += 1
  if (counts.problems.length < MOST_PROBLEMS) counts.problems.push(problem)
}

/** True for an error of zlib. Everything before the damage was read. */
function isDamaged(error: unknown): error is Error {
  return error instanceof Error && String((error as NodeJS.ErrnoException).code).startsWith('Z_')
}
