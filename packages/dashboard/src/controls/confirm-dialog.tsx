// Asks for confirmation, runs the action, and shows the error if it fails.

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'

export interface ConfirmDialogProps {
  readonly title: string
  /** Label of the button. */
  readonly action: string
  readonly isDangerous?: boolean
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
  /** Called after the action succeeded. The default closes the dialog. */
  readonly onDone?: () => void
  readonly children: ComponentChildren
}

export function ConfirmDialog({
  title,
  action,
  isDangerous = false,
  onConfirm,
  onClose,
  onDone = onClose,
  children,
}: ConfirmDialogProps) {
  const [problem, setProblem] = useState<string>()
  const [isDoing, setDoing] = useState(false)
  const confirm = async (event: SubmitEvent) => {
    event.preventDefault()
    setDoing(true)
    setProblem(undefined)
    try {
      await onConfirm()
      onDone()
    } catch (error) {
      setProblem((error as Error).message)
      setDoing(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="dialog-form" onSubmit={confirm}>
        {children}
        {problem !== undefined && (
          <p class="note bad" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-foot">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? 'button danger' : 'button main'} disabled={isDoing}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
