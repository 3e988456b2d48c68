// The open holds of a client, with their cancellation by an admin. The service keeps a list of the holds that it opened itself, because
// stores cannot list holds.

import { useState } from 'preact/hooks'
import type { OpenHold } from '../../api/answers.ts'
import { call, withQuery } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { isAdmin } from '../../api/session.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'
import { fullCount, howMany } from '../../words/count-text.ts'
import { clockTime, waitText } from '../../words/time-text.ts'

const EVERY_MS = 2000

export function OpenHolds({ clientId }: { readonly clientId: string }) {
  const polled = usePolled('getHolds', { query: { client_id: clientId } }, EVERY_MS)
  const [cancelling, setCancelling] = useState<OpenHold>()
  const { data, again } = polled
  const closed = () => {
    setCancelling(undefined)
    again()
  }
  return (
    <section class="open-holds" aria-label="Open holds">
      <h2>Open holds</h2>
      <p class="small soft">Holds that this instance opened. Other instances may have opened more, or ended some of these.</p>
      <AskFailed of={[polled]} />
      {data !== undefined && data.holds.length === 0 && <p class="card empty soft">No open holds.</p>}
      {data !== undefined && data.holds.length > 0 && (
        <ul class="card holds">
          {data.holds.map((hold) => (
            <HoldEntry key={hold.id} hold={hold} onCancel={() => setCancelling(hold)} />
          ))}
          {data.open > data.holds.length && (
            <li class="small soft">And {howMany(data.open - data.holds.length, 'older hold')}.</li>
          )}
        </ul>
      )}
      {cancelling !== undefined && <CancelDialog clientId={clientId} hold={cancelling} onClose={closed} />}
    </section>
  )
}

function HoldEntry({ hold, onCancel }: { readonly hold: OpenHold; readonly onCancel: () => void }) {
  const { route, policy, granted, opened_at, expires_at } = hold
  const leftMs = Math.max(0, Date.parse(expires_at) - Date.now())
  return (
    <li class="hold">
      <div class="hold-facts">
        <span class="mono small clip" title={route}>
          {route}
        </span>
        <span class="small">{heldText(granted)}</span>
        <span class="small soft">
          Since {clockTime(opened_at)}, expires in {waitText(leftMs / 1000)}, policy{' '}
          <a href={withQuery('/policies', { name: policy })}>{policy}</a>
        </span>
      </div>
      {isAdmin.value && (
        <button type="button" class="button slim" onClick={onCancel}>
          Cancel …
        </button>
      )}
    </li>
  )
}

interface CancelDialogProps {
  readonly clientId: string
  readonly hold: OpenHold
  readonly onClose: () => void
}

function CancelDialog({ clientId, hold: { id, route, granted }, onClose }: CancelDialogProps) {
  return (
    <ConfirmDialog
      title="Cancel this hold?"
      action="Cancel the hold"
      isDangerous
      onConfirm={() => call('cancelHold', { body: { id } })}
      onClose={onClose}
    >
      <p>
        The units that <strong>{clientId}</strong> holds on <code>{route}</code> are free again, and nothing is charged (
        {heldText(granted)}). Work that is still running under this hold cannot settle it any more. This is written into the audit
        log.
      </p>
    </ConfirmDialog>
  )
}

/** The held units by rule: 'tokens: 4,000, places: 1'. */
function heldText(granted: OpenHold['granted']): string {
  return Object.entries(granted)
    .map(([rule, units]) => `${rule}: ${fullCount(units)}`)
    .join(', ')
}
