// Switches a policy between enforce and shadow, from the list.

import type { Policy } from '../../api/answers.ts'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'
import { changePolicy } from './change-policy.ts'
import { DiffView } from './diff-view.tsx'
import { lineDiff } from './line-diff.ts'
import { policyLines } from './policy-yaml.ts'

export function ModeDialog({ policy, onClose }: { readonly policy: Policy; readonly onClose: () => void }) {
  const { name, source, expired, etag, ...body } = policy
  const mode = policy.mode === 'enforce' ? 'shadow' : 'enforce'
  const says =
    mode === 'shadow'
      ? 'It goes on counting, and lets everything through.'
      : 'It decides from now on, with what was counted so far.'
  return (
    <ConfirmDialog
      title={mode === 'shadow' ? `Put ${name} in shadow?` : `Enforce ${name}?`}
      action={mode === 'shadow' ? 'Put in shadow' : 'Enforce'}
      onConfirm={() => changePolicy(name, etag, { ...body, mode })}
      onClose={onClose}
    >
      <p>{says}</p>
      <DiffView lines={lineDiff(policyLines(policy), policyLines({ ...policy, mode }))} />
    </ConfirmDialog>
  )
}
