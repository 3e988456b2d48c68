// Dialogs to reset a count or give units back. Each asks for confirmation, and the service records both in its audit log.

import { useId, useState } from 'preact/hooks'
import type { UsageAnswer } from '../../api/answers.ts'
import { call } from '../../api/call.ts'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'

interface CounterDialogProps {
  readonly usage: UsageAnswer
  /** True if the policy counts all routes together. */
  readonly isShared: boolean
  readonly onClose: () => void
}

export function ResetDialog({ usage: { client_id, route, policy }, isShared, onClose }: CounterDialogProps) {
  return (
    <ConfirmDialog
      title="Reset this count?"
      action="Reset"
      onConfirm={() => call('POST', '/v1/reset', { body: { client_id, route } })}
      onClose={onClose}
    >
      <p>
        Everything that <strong>{client_id}</strong> has used on {routeText(route, isShared)} under the policy{' '}
        <strong>{policy}</strong> is forgotten, and its next check passes. This is written into the audit log.
      </p>
    </ConfirmDialog>
  )
}

export function RefundDialog({ usage: { client_id, route, rules }, isShared, onClose }: CounterDialogProps) {
  const id = useId()
  const [cost, setCost] = useState('1')
  const most = Math.max(...rules.map(({ used }) => used))
  return (
    <ConfirmDialog
      title="Give units back?"
      action="Give back"
      onConfirm={() => call('POST', '/v1/refund', { body: { client_id, route, cost: /^\d+$/.test(cost) ? Number(cost) : cost } })}
      onClose={onClose}
    >
      <div class="field">
        <label class="label" for={id}>
          Units, of {most} used
        </label>
        <input id={id} class="input" inputMode="numeric" value={cost} onInput={(event) => setCost(event.currentTarget.value)} />
      </div>
      <p>
        So many units of <strong>{client_id}</strong> on {routeText(route, isShared)} count as not spent, on every rule. Never
        more than was used.
      </p>
    </ConfirmDialog>
  )
}

function routeText(route: string, isShared: boolean) {
  return isShared ? 'all routes' : <code>{route}</code>
}
