// The playground as a page of its own, without a service.

import { render } from 'preact'
import { ThemeChoice } from './controls/theme-choice.tsx'
import { Playground } from './playground/playground.tsx'
import { Brand } from './shell/brand.tsx'
import './theme/typeface.css'
import './theme/tokens.css'
import './theme/base.css'
import './theme/controls.css'
import './shell/shell.css'

/** The default address of a service. */
const DEFAULT_ORIGIN = 'http://127.0.0.1:8080'

render(
  <>
    <header class="top-bar">
      <Brand />
      <ThemeChoice />
    </header>
    <main class="page">
      <Playground origin={DEFAULT_ORIGIN} />
    </main>
  </>,
  document.getElementById('app') as HTMLElement,
)
