// Copies a text to the clipboard and says whether it worked.

import { useEffect, useState } from 'preact/hooks'
import { ChangingText } from './changing-text.tsx'
import { Icon, type IconName } from './icon.tsx'

export interface CopyButtonProps {
  readonly label: string
  readonly icon?: IconName
  /** Called when the button is pressed. */
  readonly text: () => string
}

const SHOWN_MS = 2000
const COPIED = 'Copied'
const REFUSED = 'Not allowed'

export function CopyButton({ label, icon = 'copy', text }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>()
  useEffect(() => {
    if (outcome === undefined) return
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [outcome])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text())
      setOutcome('copied')
    } catch {
      setOutcome('refused')
    }
  }
  return (
    <button type="button" class="button copy" onClick={copy}>
      <Icon name={outcome === 'copied' ? 'check' : icon} />
      <ChangingText
        texts={[label, COPIED, REFUSED]}
        shown={outcome === undefined ? label : outcome === 'copied' ? COPIED : REFUSED}
      />
    </button>
  )
}
