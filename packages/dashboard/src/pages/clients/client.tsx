// One client: its usage, live, the reasons of its denials, and the admin's actions.

import { useState } from 'preact/hooks'
import { LIMITS } from 'sluice-client/contract'
import type { CheckEvent } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { useFeed } from '../../api/feed.ts'
import { usePolled } from '../../api/polled.ts'
import { isAdmin } from '../../api/session.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { putQuery, queryValue } from '../../shell/address.ts'
import { clockTime, fullTime } from '../../words/time-text.ts'
import { kindOf } from '../live/event-kind.ts'
import { OutcomeChip } from '../live/outcome-chip.tsx'
import { whyText } from '../live/why-text.ts'
import { blockAmong } from './block.ts'
import { BlockDialog, UnblockDialog } from './block-dialogs.tsx'
import { ClientRate } from './client-rate.tsx'
import { distinct, routesOfPolicies, type SharedBy, together, withShared } from './client-routes.ts'
import { OpenHolds } from './open-holds.tsx'
import { RouteUsage } from './route-usage.tsx'

const MOST_ROUTES = 12
const MOST_DENIALS = 20

export function Client({ clientId }: { readonly clientId: string }) {
  const asked = queryValue('route')
  const [seen, setSeen] = useState<readonly CheckEvent[]>([])
  const [typed, setTyped] = useState('')
  const [sharedBy, setSharedBy] = useState<SharedBy>(new Map())
  useFeed((events) => {
    const own = events.filter((event) => event.client_id === clientId)
    if (own.length > 0) setSeen((before) => [...own.toReversed(), ...before].slice(0, 200))
  })
  const policies = usePolled('listPolicies', { query: { limit: LIMITS.mostListed } }, 60_000)
  const blocks = usePolled('listPolicies', { query: { search: clientId.slice(0, 256), limit: LIMITS.mostListed } }, 10_000)
  const block = blockAmong(blocks.data?.policies ?? [], clientId)
  const [dialog, setDialog] = useState<'block' | 'unblock'>()
  const closeDialog = () => {
    setDialog(undefined)
    blocks.again()
  }
  const routes = distinct(
    [
      ...(asked === '' ? [] : [asked]),
      ...seen.map(({ route, counted_route }) => counted_route ?? route),
      ...routesOfPolicies(policies.data?.policies ?? [], clientId),
    ],
    MOST_ROUTES,
  ).sort()
  const denials = seen.filter((event) => kindOf(event) === 'denied' || kindOf(event) === 'shadow').slice(0, MOST_DENIALS)
  return (
    <>
      <header class="page-head">
        <div class="client-title">
          <a href="/clients" class="small">
            All clients
          </a>
          <h1 class="clip-lines" title={clientId}>
            {clientId}
          </h1>
        </div>
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault()
            putQuery('route', typed.trim())
            setTyped('')
          }}
        >
          <input
            class="input route-input"
            aria-label="Another route"
            placeholder="Another route, such as /v1/orders"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <button type="submit" class="button" disabled={typed.trim() === ''}>
            Look
          </button>
        </form>
      </header>
      {isAdmin.value && (
        <div class="row client-actions">
          {block === undefined ? (
            <button type="button" class="button danger" onClick={() => setDialog('block')}>
              Block this client …
            </button>
          ) : (
            <button type="button" class="button" onClick={() => setDialog('unblock')}>
              Unblock …
            </button>
          )}
          <a class="button" href={withQuery('/policies', { new: '1', client: clientId })}>
            New policy for this client
          </a>
        </div>
      )}
      {block !== undefined && (
        <p class="note bad">
          Blocked{block.expires_at === undefined ? '' : ` until ${fullTime(block.expires_at)}`}
          {block.reason === undefined ? '' : `: ${block.reason}`}
        </p>
      )}
      <AskFailed of={[policies, blocks]} />
      <ClientRate clientId={clientId} />
      <div class="client-columns">
        <div>
          <section aria-label="Usage by route">
            <h2>Usage</h2>
            {routes.length === 0 ? (
              <p class="card empty soft">
                No route of this client is known yet. Its checks show up here as they come; or type a route.
              </p>
            ) : (
              <ul class="usages">
                {routes.map((route) => (
                  <RouteUsage
                    key={route}
                    clientId={clientId}
                    route={route}
                    together={together(route, routes, sharedBy)}
                    onShared={(policy) => setSharedBy((before) => withShared(before, route, policy))}
                  />
                ))}
              </ul>
            )}
          </section>
          <OpenHolds clientId={clientId} />
        </div>
        <section aria-label="Denials">
          <h2>Why it was denied</h2>
          {denials.length === 0 ? (
            <p class="card empty soft">Not denied in the latest sample.</p>
          ) : (
            <ul class="card denials">
              {denials.map((event, i) => (
                <li key={`${event.time} ${i}`}>
                  <div class="row">
                    <span class="mono small">{clockTime(event.time)}</span>
                    <OutcomeChip event={event} />
                    <span class="mono small clip" title={event.route}>
                      {event.route}
                    </span>
                  </div>
                  <p class="small soft">
                    <a href={withQuery('/policies', { name: event.policy })}>{event.policy}</a>: {whyText(event)}
                  </p>
                </li>
              ))}
            </ul>
          )}
        </section>
      </div>
      {dialog === 'block' && <BlockDialog clientId={clientId} onClose={closeDialog} />}
      {dialog === 'unblock' && block !== undefined && <UnblockDialog block={block} onClose={closeDialog} />}
    </>
  )
}
