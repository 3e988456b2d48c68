// The dashboard's entry: chooses the page, or the sign-in page.

import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { askSession, session } from './api/session.ts'
import { Clients } from './pages/clients/clients.tsx'
import { Fleet } from './pages/fleet/fleet.tsx'
import { Keys } from './pages/keys/keys.tsx'
import { Live } from './pages/live/live.tsx'
import { Overview } from './pages/overview/overview.tsx'
import { Policies } from './pages/policies/policies.tsx'
import { SignIn } from './pages/sign-in/sign-in.tsx'
import { Playground } from './playground/playground.tsx'
import { followLinks, goTo, path } from './shell/address.ts'
import { Shell } from './shell/shell.tsx'
import './theme/typeface.css'
import './theme/tokens.css'
import './theme/base.css'
import './theme/controls.css'
import './shell/shell.css'

function Dashboard() {
  const { status } = session.value
  const here = path.value
  useEffect(() => {
    if (status === 'in' && here === '/sign-in') goTo('/')
  }, [status, here])
  // The playground sends no requests to the service, so it needs no session.
  if (status === 'in' || here === '/playground') {
    return (
      <Shell>
        <Page here={here} />
      </Shell>
    )
  }
  if (status === 'out') return <SignIn />
  return <Waiting />
}

function Page({ here }: { readonly here: string }) {
  if (here === '/live') return <Live />
  if (here === '/clients') return <Clients />
  if (here === '/policies') return <Policies />
  if (here === '/fleet') return <Fleet />
  if (here === '/keys') return <Keys />
  if (here === '/playground') return <Playground origin={location.origin} />
  return <Overview />
}

function Waiting() {
  const now = session.value
  if (now.status !== 'unreachable') return <main class="sign-in" />
  return (
    <main class="sign-in">
      <p class="note bad" role="alert">
        {now.message}
      </p>
      <button type="button" class="button" onClick={() => askSession()}>
        Try again
      </button>
    </main>
  )
}

followLinks()
askSession()
render(<Dashboard />, document.getElementById('app') as HTMLElement)
