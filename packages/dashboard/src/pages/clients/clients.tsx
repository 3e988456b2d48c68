// The clients page: the busiest clients, the most denied clients, and the details of one.

import { useState } from 'preact/hooks'
import type { Top } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Icon } from '../../controls/icon.tsx'
import { SearchField } from '../../controls/search-field.tsx'
import { goTo, queryValue } from '../../shell/address.ts'
import { shortCount } from '../../words/count-text.ts'
import { Client } from './client.tsx'
import './clients.css'

const LISTED = 100
const EVERY_MS = 5000

export function Clients() {
  const clientId = queryValue('client')
  return clientId === '' ? <ClientSearch /> : <Client key={clientId} clientId={clientId} />
}

function ClientSearch() {
  const [text, setText] = useState('')
  const denied = usePolled('getTop', { query: { by: 'denied', limit: LISTED } }, EVERY_MS)
  const allowed = usePolled('getTop', { query: { by: 'allowed', limit: LISTED } }, EVERY_MS)
  const wanted = text.trim()
  return (
    <>
      <header class="page-head">
        <div>
          <h1>Clients</h1>
          <p>Look at one client: what it has used, and why it was denied.</p>
        </div>
      </header>
      <form
        class="client-search"
        onSubmit={(event) => {
          event.preventDefault()
          if (wanted !== '') goTo(withQuery('/clients', { client: wanted }))
        }}
      >
        <SearchField label="Client" value={text} onInput={setText} />
        <button type="submit" class="button main" disabled={wanted === ''}>
          Look
        </button>
      </form>
      <AskFailed of={[denied, allowed]} />
      <div class="two-lists">
        <TopClients title="Denied most" top={denied.data} text={wanted} empty="No client was denied anything in the last hour." />
        <TopClients title="Allowed most" top={allowed.data} text={wanted} empty="No client came in the last hour." />
      </div>
    </>
  )
}

interface TopClientsProps {
  readonly title: string
  readonly top: Top | undefined
  readonly text: string
  readonly empty: string
}

function TopClients({ title, top, text, empty }: TopClientsProps) {
  const clients = top?.clients.filter(({ client_id }) => client_id.toLowerCase().includes(text.toLowerCase()))
  return (
    <section class="card top-clients" aria-label={title}>
      <h2>
        {title} <span class="small soft">in the last hour</span>
      </h2>
      {clients === undefined ? null : clients.length === 0 ? (
        <p class="empty soft">{text === '' ? empty : 'None of these matches. Press Look to see any client.'}</p>
      ) : (
        <ol>
          {clients.map(({ client_id, count }) => (
            <li key={client_id}>
              <a href={withQuery('/clients', { client: client_id })}>
                <span class="clip" title={client_id}>
                  {client_id}
                </span>
                <span class="number">{shortCount(count)}</span>
                <Icon name="forward" />
              </a>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
