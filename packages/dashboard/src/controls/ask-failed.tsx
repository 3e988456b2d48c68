// A notice that the data in view may be old, with the reason.

import type { Polled } from '../api/polled.ts'
import { Icon } from './icon.tsx'

export function AskFailed({ of }: { readonly of: readonly Polled<unknown>[] }) {
  const failed = of.find(({ error }) => error !== undefined)
  if (failed?.error === undefined) return null
  return (
    <p class="note bad" role="alert">
      <Icon name="warning" />
      <span>
        {failed.error.message} {failed.data === undefined ? '' : 'What is shown is what was known last.'}
      </span>
    </p>
  )
}
