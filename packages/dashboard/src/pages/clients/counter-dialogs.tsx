// Dialogs to reset a count or give units back. Each asks for confirmation, and the service records both in its audit log.

import { useId, useState } from 'preact/hooks'
import type { Usage } from '../../api/answers.ts'
import { call } from '../../api/call.ts'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'

interface CounterDialogProps {
  readonly usage: Usage
  /** True if the policy counts all routes together. */
  readonly isShared: boolean
  readonly onClose: () => void
}

export function ResetDialog({ usage: { client_id, route, policy }, isShared, onClose }: CounterDialogProps) {
  return (
    <ConfirmDialog
      title="Reset this count?"
      action="Reset"
      onConfirm={() => call('resetCounter', { body: { client_id, route } })}
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
      onConfirm={() => call('refund', { body: { client_id, route, cost: asTyped(cost) } })}
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

/** Returns a number. Any other text is sent as it is, and the service refuses it with its own message. */
function asTyped(text: string): number {
  return (/^\d+$/.test(text) ? Number(text) : text) as number
}

function routeText(route: string, isShared: boolean) {
  return isShared ? 'all routes' : <code>{route}</code>
}
