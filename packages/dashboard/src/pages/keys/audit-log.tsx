// The audit log, newest first: changes with values before and after, or sign-ins.

import { useEffect, useState } from 'preact/hooks'
import type { AuditEntry, AuditPage, Key } from '../../api/answers.ts'
import { call } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Icon } from '../../controls/icon.tsx'
import { SearchField } from '../../controls/search-field.tsx'
import { Segments } from '../../controls/segments.tsx'
import { putQuery, queryValue } from '../../shell/address.ts'
import { howMany } from '../../words/count-text.ts'
import { fullTime } from '../../words/time-text.ts'
import { actorName, targetName } from './actor-name.ts'

const PAGE = 50

/** Time without typing after which a search is sent. Each search reads thousands of entries. */
const SETTLED_MS = 300

const PARTS = [
  ['changes', 'Changes'],
  ['sign-ins', 'Sign-ins'],
] as const

type Part = (typeof PARTS)[number][0]

/** The entries that are asked for. Empty texts ask for all. */
interface Filter {
  readonly of: Part
  readonly search: string
  readonly target: string
}

export function AuditLog() {
  const filter: Filter = {
    of: queryValue('of') === 'sign-ins' ? 'sign-ins' : 'changes',
    search: queryValue('search'),
    target: queryValue('target'),
  }
  const [typed, setTyped] = useState(filter.search)
  useEffect(() => {
    const timer = setTimeout(() => putQuery('search', typed.trim()), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <section class="card audit" aria-label="Audit log">
      <h2>Audit log</h2>
      <div class="filters">
        <SearchField label="Action, target or name of a key" value={typed} onInput={setTyped} />
        <Segments
          label="Entries"
          choices={PARTS}
          value={filter.of}
          onChoose={(of) => putQuery('of', of === 'changes' ? '' : of)}
        />
      </div>
      <Entries key={JSON.stringify(filter)} filter={filter} />
    </section>
  )
}

function Entries({ filter }: { readonly filter: Filter }) {
  const { of, search, target } = filter
  const query = { of, limit: PAGE, ...(search !== '' && { search }), ...(target !== '' && { target }) }
  const first = usePolled('readAudit', { query }, 10_000)
  const keys = usePolled('listKeys', {}, 60_000)
  const [older, setOlder] = useState<readonly AuditPage[]>([])
  const pages = first.data === undefined ? [] : [first.data, ...older]
  const next = pages.at(-1)?.next
  const load = async () => {
    const page = await call('readAudit', { query: { ...query, before: next ?? undefined } })
    setOlder((before) => [...before, page])
  }
  const entries = distinct(pages.flatMap((page) => page.entries))
  const isFiltered = search !== '' || target !== ''
  const lookedAt = pages.reduce((sum, page) => sum + page.looked_at, 0)
  return (
    <>
      <AskFailed of={[first]} />
      {target !== '' && <OnlyTarget filter={filter} entry={entries[0]} keys={keys.data?.keys} />}
      <div class="stacking">
        <table class="plain stacks fixed-columns">
          <colgroup>
            <col class="time-of-entry-column" />
            <col class="actor-column" />
            <col class="action-name-column" />
            <col />
            <col class="address-column" />
            <col class="only-column" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Who</th>
              <th scope="col">Did</th>
              <th scope="col">What</th>
              <th scope="col">From</th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <EntryRow key={entryKey(entry)} entry={entry} keys={keys.data?.keys} />
            ))}
          </tbody>
        </table>
      </div>
      {first.data !== undefined && entries.length === 0 && (
        <p class="soft">{isFiltered ? 'None of these entries fits.' : 'Nothing was written down yet.'}</p>
      )}
      {(next || (isFiltered && first.data !== undefined)) && (
        <div class="row">
          {next && (
            <button type="button" class="button" onClick={load}>
              {isFiltered ? 'Search older entries' : 'Show older'}
            </button>
          )}
          {isFiltered && <span class="small soft">{howMany(lookedAt, 'entry', 'entries')} searched</span>}
        </div>
      )}
    </>
  )
}

interface OnlyTargetProps {
  readonly filter: Filter
  /** An entry about the target, whose name is shown. */
  readonly entry: AuditEntry | undefined
  readonly keys: readonly Key[] | undefined
}

/** Names the target that the list is restricted to, and ends that. */
function OnlyTarget({ filter: { target }, entry, keys }: OnlyTargetProps) {
  const name = entry === undefined ? target : targetName(entry, keys)
  return (
    <p class="row only-target">
      <span class="clip" title={`Only entries about ${titleOf(name, target)}`}>
        Only entries about <strong>{name}</strong>
      </span>
      <button type="button" class="button slim" onClick={() => putQuery('target', '')}>
        <Icon name="cross" /> Show all
      </button>
    </p>
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
      <td class="number">
        <button
          type="button"
          class="button quiet slim icon-only"
          aria-label={`Only entries about ${what}`}
          title="Only entries about this"
          onClick={() => putQuery('target', entry.target)}
        >
          <Icon name="search" />
        </button>
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
