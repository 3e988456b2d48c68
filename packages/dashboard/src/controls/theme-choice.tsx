// A button that cycles through light, dark and the system's theme.

import { type Theme, theme } from '../theme/theme.ts'
import { Icon, type IconName } from './icon.tsx'

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const ICONS: Readonly<Record<Theme, IconName>> = { system: 'screen', light: 'sun', dark: 'moon' }
const NAMES: Readonly<Record<Theme, string>> = { system: 'as the system', light: 'light', dark: 'dark' }

export function ThemeChoice() {
  const chosen = theme.value
  const says = `Colours: ${NAMES[chosen]}. Change to ${NAMES[NEXT[chosen]]}.`
  return (
    <button
      type="button"
      class="button quiet icon-only"
      aria-label={says}
      title={says}
      onClick={() => {
        theme.value = NEXT[chosen]
      }}
    >
      <Icon name={ICONS[chosen]} />
    </button>
  )
}
