// The audit log, newest first: changes with values before and after, or sign-ins.

import { useState } from 'preact/hooks'
import type { AuditEntry, AuditPage, Key } from '../../api/answers.ts'
import { call } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Segments } from '../../controls/segments.tsx'
import { fullTime } from '../../words/time-text.ts'
import { actorName, targetName } from './actor-name.ts'

const PAGE = 50

const PARTS = [
  ['changes', 'Changes'],
  ['sign-ins', 'Sign-ins'],
] as const

type Part = (typeof PARTS)[number][0]

export function AuditLog() {
  const [part, setPart] = useState<Part>('changes')
  return (
    <section class="card audit" aria-label="Audit log">
      <div class="row">
        <h2>Audit log</h2>
        <Segments label="Entries" choices={PARTS} value={part} onChoose={setPart} />
      </div>
      <Entries key={part} of={part} />
    </section>
  )
}

function Entries({ of }: { readonly of: Part }) {
  const first = usePolled('readAudit', { query: { of, limit: PAGE } }, 10_000)
  const keys = usePolled('listKeys', {}, 60_000)
  const [older, setOlder] = useState<readonly AuditPage[]>([])
  const pages = first.data === undefined ? [] : [first.data, ...older]
  const next = pages.at(-1)?.next
  const load = async () => {
    const page = await call('readAudit', { query: { of, limit: PAGE, before: next ?? undefined } })
    setOlder((before) => [...before, page])
  }
  const entries = distinct(pages.flatMap((page) => page.entries))
  return (
    <>
      <AskFailed of={[first]} />
      <div class="stacking">
        <table class="plain stacks fixed-columns">
          <colgroup>
            <col class="time-of-entry-column" />
            <col class="actor-column" />
            <col class="action-name-column" />
            <col />
            <col class="address-column" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Who</th>
              <th scope="col">Did</th>
              <th scope="col">What</th>
              <th scope="col">From</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <EntryRow key={entryKey(entry)} entry={entry} keys={keys.data?.keys} />
            ))}
          </tbody>
        </table>
      </div>
      {next && (
        <button type="button" class="button" onClick={load}>
          Show older
        </button>
      )}
    </>
  )
}

function EntryRow({ entry, keys }: { readonly entry: AuditEntry; readonly keys: readonly Key[] | undefined }) {
  const { time, actor, action, before, after, address } = entry
  // Entries of earlier versions have only the id.
  const who = entry.actorName ?? actorName(actor, keys)
  const what = targetName(entry, keys)
  const hasMore = before !== undefined || after !== undefined
  return (
    <tr>
      <td class="mono small">{fullTime(time)}</td>
      <td data-label="Who">
        <span class="clip" title={titleOf(who, actor)}>
          {who}
        </span>
      </td>
      <td data-label="Did">
        <span class={action.endsWith('refuse') ? 'chip warn' : 'chip'}>{action}</span>
      </td>
      <td data-label="What">
        {hasMore ? (
          <details>
            <summary class="clip" title={titleOf(what, entry.target)}>
              {what}
            </summary>
            {before !== undefined && <Value title="before" value={before} />}
            {after !== undefined && <Value title="after" value={after} />}
          </details>
        ) : (
          <span class="clip" title={titleOf(what, entry.target)}>
            {what}
          </span>
        )}
      </td>
      <td class="mono small" data-label="From">
        {address !== undefined && (
          <span class="clip" title={address}>
            {address}
          </span>
        )}
      </td>
    </tr>
  )
}

/** A name, followed by its id in the log if the two differ. */
function titleOf(name: string, id: string): string {
  return name === id ? name : `${name} (${id})`
}

function Value({ title, value }: { readonly title: string; readonly value: unknown }) {
  return (
    <p class="small mono">
      <span class="soft">{title}: </span>
      {JSON.stringify(value)}
    </p>
  )
}

function entryKey({ time, actor, action, target }: AuditEntry): string {
  return `${time} ${actor} ${action} ${target}`
}

/** Removes duplicates. Two pages overlap if entries were added between the requests. */
function distinct(entries: readonly AuditEntry[]): readonly AuditEntry[] {
  return [...new Map(entries.map((entry) => [entryKey(entry), entry])).values()]
}
