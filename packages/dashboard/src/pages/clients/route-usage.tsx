// The usage of a client under one policy: on one route, or on all routes that the policy counts together.

import { useEffect, useState } from 'preact/hooks'
import { withQuery } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { isAdmin } from '../../api/session.ts'
import { ChangingText } from '../../controls/changing-text.tsx'
import { Icon } from '../../controls/icon.tsx'
import { RefundDialog, ResetDialog } from './counter-dialogs.tsx'
import { RuleBar } from './rule-bar.tsx'

const EVERY_MS = 2000
const POLICY_EVERY_MS = 60_000

export interface RouteUsageProps {
  readonly clientId: string
  readonly route: string
  /** All routes that share this route's counters, this one first. Empty if another route shows them. */
  readonly together: readonly string[]
  /** Called with the policy that counts this route together with others, or with undefined if there is none. */
  readonly onShared: (policy: string | undefined) => void
}

export function RouteUsage({ clientId, route, together, onShared }: RouteUsageProps) {
  const { data, error, again } = usePolled('getUsage', { query: { client_id: clientId, route } }, EVERY_MS)
  const policy = usePolled('getPolicy', data && { path: { name: data.policy } }, POLICY_EVERY_MS)
  const isKnown = data !== undefined && (policy.data?.name === data.policy || policy.error !== undefined)
  const isShared = isKnown && policy.data?.name === data.policy && policy.data.scope === 'policy'
  const sharedBy = isShared ? data.policy : undefined
  useEffect(() => {
    onShared(sharedBy)
    return () => onShared(undefined)
  }, [sharedBy])
  const [doing, setDoing] = useState<'reset' | 'refund'>()
  const closed = () => {
    setDoing(undefined)
    again()
  }
  if (together.length === 0) return null
  const title = isShared ? 'All routes' : route
  return (
    <li class="card usage">
      <div class="usage-head">
        <h3 class={isShared ? undefined : 'mono clip-lines'} title={title}>
          {title}
        </h3>
        {isKnown && (
          <span class={data.status === 'Allow' ? 'chip good' : 'chip bad'}>
            <ChangingText texts={['passes', 'denied']} shown={data.status === 'Allow' ? 'passes' : 'denied'} />
          </span>
        )}
      </div>
      {error !== undefined && (
        <p class="problem" role="alert">
          {error.message}
        </p>
      )}
      {isKnown && (
        <>
          <div class="small soft usage-policy">
            Policy{' '}
            <a class="clip" href={withQuery('/policies', { name: data.policy })} title={data.policy}>
              {data.policy}
            </a>
            {data.mode !== 'enforce' && <span class="chip shadow">{data.mode === 'shadow' ? 'in shadow' : 'off'}</span>}
          </div>
          {isShared && <SharedRoutes routes={together} />}
          {data.fallback !== undefined && <StoreNote isCounted={data.fallback === 'local'} />}
          {(data.fallback === undefined || data.fallback === 'local') && (
            <ul class="rule-bars">
              {data.rules.map((rule) => (
                <RuleBar key={rule.name} rule={rule} />
              ))}
            </ul>
          )}
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
          {doing === 'reset' && <ResetDialog usage={data} isShared={isShared} onClose={closed} />}
          {doing === 'refund' && <RefundDialog usage={data} isShared={isShared} onClose={closed} />}
        </>
      )}
    </li>
  )
}

/** Shown while the store does not answer. If nothing is counted, there are no numbers of this client to show. */
function StoreNote({ isCounted }: { readonly isCounted: boolean }) {
  const rest = isCounted ? 'These are the counters of one instance.' : 'Nothing is counted.'
  return <p class="note warn">The store does not answer. {rest}</p>
}

function SharedRoutes({ routes }: { readonly routes: readonly string[] }) {
  return (
    <div class="small soft">
      It counts these routes and all others together:
      <ul>
        {routes.map((route) => (
          <li key={route} class="mono clip" title={route}>
            {route}
          </li>
        ))}
      </ul>
    </div>
  )
}
