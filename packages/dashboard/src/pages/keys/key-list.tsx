// The list of API keys, with their actions. A secret is shown once, when it is created.

import { useState } from 'preact/hooks'
import type { Key } from '../../api/answers.ts'
import { call } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { session } from '../../api/session.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'
import { Icon } from '../../controls/icon.tsx'
import { agoText, fullTime } from '../../words/time-text.ts'
import { NewKeyDialog, RotateDialog } from './key-dialogs.tsx'
import { keyValidity } from './key-validity.ts'

export function KeyList({ onChanged }: { readonly onChanged: () => void }) {
  const keys = usePolled('listKeys', {}, 10_000)
  const [isMaking, setMaking] = useState(false)
  const [rotating, setRotating] = useState<Key>()
  const [revoking, setRevoking] = useState<Key>()
  const own = session.value.status === 'in' ? session.value.key.id : ''
  const nowMs = Date.now()
  const changed = () => {
    keys.again()
    onChanged()
  }
  return (
    <section class="card" aria-label="API keys">
      <div class="card-head">
        <h2>API keys</h2>
        <button type="button" class="button main" onClick={() => setMaking(true)}>
          <Icon name="plus" /> New key
        </button>
      </div>
      <AskFailed of={[keys]} />
      <div class="stacking">
        <table class="plain stacks fixed-columns">
          <colgroup>
            <col />
            <col class="scopes-column" />
            <col class="ago-column" />
            <col class="ago-column" />
            <col class="state-column" />
            <col class="key-actions-column" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Scopes</th>
              <th scope="col">Made</th>
              <th scope="col">Last used</th>
              <th scope="col">State</th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {keys.data?.keys.map((key) => {
              const { tone, text, isAlive } = keyValidity(key, nowMs)
              return (
                <tr key={key.id}>
                  <td>
                    <span class="name-cell">
                      <strong class="clip" title={key.name}>
                        {key.name}
                      </strong>
                      {key.id === own && <span class="chip accent">you</span>}
                    </span>
                    <span class="mono small soft clip" title={key.id}>
                      {key.id}
                    </span>
                  </td>
                  <td data-label="Scopes">{key.scopes.join(', ')}</td>
                  <td data-label="Made" title={fullTime(key.created_at)}>
                    {agoText(key.created_at, nowMs)}
                  </td>
                  <td data-label="Last used" title={key.last_used_at === null ? undefined : fullTime(key.last_used_at)}>
                    {key.last_used_at === null ? 'never' : agoText(key.last_used_at, nowMs)}
                  </td>
                  <td data-label="State">
                    <span class={`chip ${tone}`}>{text}</span>
                  </td>
                  <td class="number">
                    {isAlive && (
                      <span class="row key-actions">
                        <button
                          type="button"
                          class="button slim"
                          aria-label={`Replace ${key.name}`}
                          onClick={() => setRotating(key)}
                        >
                          Replace …
                        </button>
                        <button
                          type="button"
                          class="button slim danger"
                          aria-label={`Revoke ${key.name} ${key.id}`}
                          onClick={() => setRevoking(key)}
                        >
                          Revoke …
                        </button>
                      </span>
                    )}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      {isMaking && (
        <NewKeyDialog
          onClose={() => {
            setMaking(false)
            changed()
          }}
        />
      )}
      {rotating !== undefined && (
        <RotateDialog
          apiKey={rotating}
          onClose={() => {
            setRotating(undefined)
            changed()
          }}
        />
      )}
      {revoking !== undefined && (
        <ConfirmDialog
          title={`Revoke ${revoking.name}?`}
          action="Revoke"
          isDangerous
          onConfirm={() => call('revokeKey', { path: { id: revoking.id } })}
          onClose={() => {
            setRevoking(undefined)
            changed()
          }}
        >
          <p>
            From then on the key is refused everywhere.{' '}
            {revoking.id === own ? 'It is the one that you signed in with: you will be signed out.' : ''}
          </p>
        </ConfirmDialog>
      )}
    </section>
  )
}
