// Switches a policy between enforce and shadow. Before it enforces, it says what the policy would have denied so far.

import type { Policy } from '../../api/answers.ts'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'
import { changePolicy } from './change-policy.ts'
import { DiffView } from './diff-view.tsx'
import { lineDiff } from './line-diff.ts'
import { policyLines } from './policy-yaml.ts'
import { shadowText } from './shadow-words.ts'
import { useShadowReport } from './use-shadow-report.ts'

export interface ModeDialogProps {
  readonly policy: Policy
  readonly onClose: () => void
  /** Called after the mode was changed. The default closes the dialog. */
  readonly onDone?: () => void
}

export function ModeDialog({ policy, onClose, onDone = onClose }: ModeDialogProps) {
  const { name, source, expired, etag, ...body } = policy
  const mode = policy.mode === 'enforce' ? 'shadow' : 'enforce'
  const report = useShadowReport(policy.mode === 'shadow' ? name : undefined)
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
      onDone={onDone}
    >
      <p>{says}</p>
      {report.data !== undefined && <p>{shadowText(report.data)}</p>}
      <DiffView lines={lineDiff(policyLines(policy), policyLines({ ...policy, mode }))} />
    </ConfirmDialog>
  )
}
