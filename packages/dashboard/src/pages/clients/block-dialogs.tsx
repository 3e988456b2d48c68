// Dialogs that block a client, and that end a block. The service records both in its audit log.

import { useState } from 'preact/hooks'
import type { RequestOf } from 'sluice-client/contract'
import type { Policy } from '../../api/answers.ts'
import { call } from '../../api/call.ts'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'
import { Segments } from '../../controls/segments.tsx'
import { ENDS, type EndName, endAt } from '../policies/expiry.ts'
import { ReasonFields } from '../policies/policy-fields.tsx'
import { blockOf } from './block.ts'

const CHOICES = ENDS.map(({ name, label }) => [name, name === 'never' ? 'until unblocked' : label] as const)

interface BlockDialogProps {
  readonly clientId: string
  readonly onClose: () => void
}

export function BlockDialog({ clientId, onClose }: BlockDialogProps) {
  const [end, setEnd] = useState<EndName>('hour')
  const [reason, setReason] = useState('')
  const [isShown, setShown] = useState(false)
  const block = async () => {
    const spec = await blockOf(clientId, { expiresAt: endAt(end, new Date()), reason, showsReason: isShown })
    const { name = '', ...body } = spec
    await call('putPolicy', { path: { name }, body: body as RequestOf<'putPolicy'>['body'] & object })
  }
  return (
    <ConfirmDialog title="Block this client?" action="Block" isDangerous onConfirm={block} onClose={onClose}>
      <p>
        Every check of{' '}
        <strong class="clip-lines" title={clientId}>
          {clientId}
        </strong>{' '}
        is denied at once, whatever other policies say.
      </p>
      <Segments label="Until" choices={CHOICES} value={end} onChoose={setEnd} />
      <ReasonFields
        reason={reason}
        isShown={isShown}
        problem={undefined}
        onChange={(text, shown) => {
          setReason(text)
          setShown(shown)
        }}
      />
    </ConfirmDialog>
  )
}

interface UnblockDialogProps {
  readonly block: Policy
  readonly onClose: () => void
}

export function UnblockDialog({ block, onClose }: UnblockDialogProps) {
  return (
    <ConfirmDialog
      title="End this block?"
      action="Unblock"
      onConfirm={() => call('deletePolicy', { path: { name: block.name } })}
      onClose={onClose}
    >
      <p>
        The policy{' '}
        <strong class="clip-lines" title={block.name}>
          {block.name}
        </strong>{' '}
        is deleted. Other policies decide again.
      </p>
    </ConfirmDialog>
  )
}
