// The theme: light, dark, or the system's. `public/theme.js` sets it before the first paint.

import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'sluice-theme'

export const theme = signal<Theme>(kept())

effect(() => {
  const chosen = theme.value
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
  try {
    if (chosen === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, chosen)
  } catch {
    // Storage may be forbidden. The choice then lasts as long as the page.
  }
})

function kept(): Theme {
  const { theme: put } = document.documentElement.dataset
  return put === 'light' || put === 'dark' ? put : 'system'
}
