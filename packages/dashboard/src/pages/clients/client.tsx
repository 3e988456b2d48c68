// One client: what it has used of its limits, live, why it was denied, and what an admin can do about it.

import { useState } from 'preact/hooks'
import type { CheckEvent, PoliciesAnswer, UsageAnswer } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { useFeed } from '../../api/feed.ts'
import { usePolled } from '../../api/polled.ts'
import { isAdmin } from '../../api/session.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Icon } from '../../controls/icon.tsx'
import { putQuery, queryValue } from '../../shell/address.ts'
import { clockTime } from '../../words/time-text.ts'
import { kindOf } from '../live/event-kind.ts'
import { OutcomeChip } from '../live/outcome-chip.tsx'
import { whyText } from '../live/why-text.ts'
import { distinct, routesOfPolicies } from './client-routes.ts'
import { RefundDialog, ResetDialog } from './counter-dialogs.tsx'
import { RuleBar } from './rule-bar.tsx'

const MOST_ROUTES = 12
const MOST_DENIALS = 20
const EVERY_MS = 2000

export function Client({ clientId }: { readonly clientId: string }) {
  const asked = queryValue('route')
  const [seen, setSeen] = useState<readonly CheckEvent[]>([])
  const [typed, setTyped] = useState('')
  useFeed((events) => {
    const own = events.filter((event) => event.client_id === clientId)
    if (own.length > 0) setSeen((before) => [...own.toReversed(), ...before].slice(0, 200))
  })
  const policies = usePolled<PoliciesAnswer>('/v1/policies?limit=1000', 60_000)
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
          <h1>{clientId}</h1>
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
      <AskFailed of={[policies]} />
      <div class="client-columns">
        <section aria-label="Usage by route">
          <h2>Usage</h2>
          {routes.length === 0 ? (
            <p class="card empty soft">
              No route of this client is known yet. Its checks show up here as they come; or type a route.
            </p>
          ) : (
            <ul class="usages">
              {routes.map((route) => (
                <RouteUsage key={route} clientId={clientId} route={route} />
              ))}
            </ul>
          )}
        </section>
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
                    <span class="mono small clip">{event.route}</span>
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
    </>
  )
}

function RouteUsage({ clientId, route }: { readonly clientId: string; readonly route: string }) {
  const { data, error, again } = usePolled<UsageAnswer>(withQuery('/v1/usage', { client_id: clientId, route }), EVERY_MS)
  const [doing, setDoing] = useState<'reset' | 'refund'>()
  const closed = () => {
    setDoing(undefined)
    again()
  }
  return (
    <li class="card usage">
      <div class="usage-head">
        <h3 class="mono">{route}</h3>
        {data !== undefined && (
          <span class={data.status === 'Allow' ? 'chip good' : 'chip bad'}>{data.status === 'Allow' ? 'passes' : 'denied'}</span>
        )}
      </div>
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.message}
        </p>
      )}
      {data !== undefined && (
        <>
          <p class="small soft">
            Policy <a href={withQuery('/policies', { name: data.policy })}>{data.policy}</a>
            {data.mode !== 'enforce' && <span class="chip shadow">{data.mode === 'shadow' ? 'in shadow' : 'off'}</span>}
          </p>
          <ul class="rule-bars">
            {data.rules.map((rule) => (
              <RuleBar key={rule.name} rule={rule} />
            ))}
          </ul>
          {isAdmin.value && (
            <div class="row usage-actions">
              <button type="button" class="button slim" onClick={() => setDoing('reset')}>
                <Icon name="back" /> Reset …
              </button>
              <button type="button" class="button slim" onClick={() => setDoing('refund')}>
                Give back …
              </button>
            </div>
          )}
          {doing === 'reset' && <ResetDialog usage={data} onClose={closed} />}
          {doing === 'refund' && <RefundDialog usage={data} onClose={closed} />}
        </>
      )}
    </li>
  )
}
