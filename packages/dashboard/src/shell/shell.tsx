// The frame around every page: navigation, the session, and the page itself.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { session, signOut } from '../api/session.ts'
import { Icon, type IconName } from '../controls/icon.tsx'
import { ThemeChoice } from '../controls/theme-choice.tsx'
import { path } from './address.ts'
import { Brand } from './brand.tsx'
import { RecordsBanner } from './records-banner.tsx'

interface Place {
  readonly path: string
  readonly title: string
  readonly icon: IconName
}

const PLACES: readonly Place[] = [
  { path: '/', title: 'Overview', icon: 'overview' },
  { path: '/live', title: 'Live', icon: 'live' },
  { path: '/clients', title: 'Clients', icon: 'clients' },
  { path: '/policies', title: 'Policies', icon: 'policies' },
  { path: '/fleet', title: 'Fleet', icon: 'fleet' },
  { path: '/keys', title: 'Keys and audit', icon: 'keys' },
  { path: '/playground', title: 'Playground', icon: 'playground' },
]

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const here = path.value
  const title = PLACES.find((place) => place.path === here)?.title ?? 'Sign in'
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  useEffect(() => {
    document.title = `${title} · Sluice`
    // Moves the focus from the old link to the new page, for keyboard and screen reader users.
    if (!isFirst.current) main.current?.focus()
    document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    isFirst.current = false
  }, [title])
  return (
    <div class="shell">
      <a class="skip" href="#main" data-load>
        To the page
      </a>
      <header class="side">
        <Brand />
        <nav aria-label="Pages">
          <ul>
            {PLACES.map(({ path: to, title: name, icon }) => (
              <li key={to}>
                <a href={to} aria-current={to === here ? 'page' : undefined}>
                  <Icon name={icon} />
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div class="side-foot">
          <Who />
          <ThemeChoice />
        </div>
      </header>
      <main id="main" class="page" tabIndex={-1} ref={main}>
        <RecordsBanner />
        {children}
      </main>
    </div>
  )
}

function Who() {
  const who = session.value
  if (who.status !== 'in') return <span class="who" />
  const { name, scopes } = who.key
  const may = scopes.includes('admin') ? 'admin' : 'looks only'
  return (
    <>
      <span class="who" title={`Signed in with the key ${name}`}>
        <strong>{name}</strong>
        <span class="small soft">{who.keysRequired ? may : 'no keys required'}</span>
      </span>
      {who.keysRequired && (
        <button type="button" class="button quiet icon-only" aria-label="Sign out" title="Sign out" onClick={() => signOut()}>
          <Icon name="leave" />
        </button>
      )}
    </>
  )
}
