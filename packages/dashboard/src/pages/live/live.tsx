// The live list of decisions, with filters and a pause button.

import { useState } from 'preact/hooks'
import { withQuery } from '../../api/call.ts'
import { useFeed } from '../../api/feed.ts'
import { ChangingText } from '../../controls/changing-text.tsx'
import { Icon } from '../../controls/icon.tsx'
import { SearchField } from '../../controls/search-field.tsx'
import { Segments } from '../../controls/segments.tsx'
import { putQuery, queryValue } from '../../shell/address.ts'
import { fullCount } from '../../words/count-text.ts'
import { clockTime } from '../../words/time-text.ts'
import './live.css'
import type { EventKind } from './event-kind.ts'
import { OutcomeChip } from './outcome-chip.tsx'
import { added, EMPTY_TAIL, matching, paused, type TailEvent } from './tail.ts'
import { whyText } from './why-text.ts'

const KINDS: readonly (readonly [EventKind | 'all', string])[] = [
  ['all', 'All'],
  ['denied', 'Denied'],
  ['shadow', 'Shadow'],
  ['allowed', 'Allowed'],
]

/** Number of visible rows. Filters reach the other kept events. */
const MOST_ROWS = 100

export function Live() {
  const [tail, setTail] = useState(EMPTY_TAIL)
  const isOpen = useFeed((events) => setTail((before) => added(before, events)))
  const asked = queryValue('outcome')
  const kind = KINDS.find(([value]) => value === asked)?.[0] ?? 'all'
  const text = queryValue('text')
  const shown = matching(tail.events, kind, text).slice(0, MOST_ROWS)
  return (
    <div class="live">
      <header class="page-head">
        <div>
          <h1>Live</h1>
          <p>A sample of checks as they are decided, newest first, with the reason for each answer.</p>
        </div>
        <span class={isOpen ? 'chip good' : 'chip warn'}>{isOpen ? 'connected' : 'connecting …'}</span>
      </header>
      <div class="filters">
        <Segments
          label="Outcome"
          choices={KINDS}
          value={kind}
          onChoose={(value) => putQuery('outcome', value === 'all' ? '' : value)}
        />
        <SearchField label="Client, route, policy or rule" value={text} onInput={(value) => putQuery('text', value)} />
        <button
          type="button"
          class="button"
          aria-pressed={tail.isPaused}
          onClick={() => setTail((before) => paused(before, !before.isPaused))}
        >
          <Icon name={tail.isPaused ? 'play' : 'pause'} />
          <ChangingText texts={['Go on', 'Pause']} shown={tail.isPaused ? 'Go on' : 'Pause'} />
        </button>
        <span class="small soft">
          {tail.isPaused ? `${fullCount(tail.waiting.length)} waiting` : `${fullCount(tail.skipped)} left out of the sample`}
        </span>
      </div>
      <section class="card tail" aria-label="Decisions, newest first">
        {shown.length === 0 ? <Nothing isFiltered={tail.events.length > 0} isOpen={isOpen} /> : <Rows events={shown} />}
      </section>
    </div>
  )
}

function Nothing({ isFiltered, isOpen }: { readonly isFiltered: boolean; readonly isOpen: boolean }) {
  if (isFiltered) return <p class="empty soft">Nothing that came so far matches the filter.</p>
  return (
    <p class="empty soft">{isOpen ? 'Nothing yet. Checks show up here as they are decided.' : 'Connecting to the service …'}</p>
  )
}

function Rows({ events }: { readonly events: readonly TailEvent[] }) {
  return (
    <table class="plain">
      <colgroup>
        <col class="time-column" />
        <col class="outcome-column" />
        <col />
        <col />
        <col />
        <col class="why-column" />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Outcome</th>
          <th scope="col">Client</th>
          <th scope="col">Route</th>
          <th scope="col">Policy</th>
          <th scope="col">Why</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <tr key={event.number}>
            <td class="mono">{clockTime(event.time)}</td>
            <td>
              <OutcomeChip event={event} />
            </td>
            <td>
              <a
                class="clip"
                href={withQuery('/clients', { client: event.client_id, route: event.route })}
                title={event.client_id}
              >
                {event.client_id}
              </a>
            </td>
            <td>
              <span class="clip mono" title={event.route}>
                {event.route}
              </span>
            </td>
            <td>
              <a class="clip" href={withQuery('/policies', { name: event.policy })} title={event.policy}>
                {event.policy}
              </a>
            </td>
            <td class="why small soft">{whyText(event)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
