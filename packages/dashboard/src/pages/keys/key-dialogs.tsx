// Dialogs that create and replace API keys.

import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { Key, KeyWithSecret, Scope } from '../../api/answers.ts'
import { call } from '../../api/call.ts'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'
import { CopyButton } from '../../controls/copy-button.tsx'
import { Dialog } from '../../controls/dialog.tsx'
import { Segments } from '../../controls/segments.tsx'

const SCOPES: readonly (readonly [Scope, string, string])[] = [
  ['check', 'Check', 'May ask for decisions. For services.'],
  ['read', 'Read', 'May look at usage, policies and figures. For dashboards.'],
  ['admin', 'Admin', 'May do everything.'],
]

const LIVES = { '30': '30 days', '90': '90 days', '365': 'a year', '0': 'until revoked' } as const
type Life = keyof typeof LIVES

const GRACES = { '0': 'at once', '3600': 'after an hour', '86400': 'after a day', '': 'when it is revoked' } as const
type Grace = keyof typeof GRACES

interface DialogProps {
  readonly onClose: () => void
}

export function NewKeyDialog({ onClose }: DialogProps) {
  const nameId = useId()
  const [name, setName] = useState('')
  const [scope, setScope] = useState<Scope>('check')
  const [life, setLife] = useState<Life>('90')
  const make = () => {
    const expires_at = life === '0' ? undefined : new Date(Date.now() + Number(life) * 86_400_000).toISOString()
    return call('createKey', { body: { name, scopes: [scope], ...(expires_at && { expires_at }) } })
  }
  return (
    <SecretDialog title="New API key" action="Make the key" make={make} onClose={onClose}>
      <div class="field">
        <label class="label" for={nameId}>
          Name: who will use it
        </label>
        <input
          id={nameId}
          class="input"
          value={name}
          autocomplete="off"
          required
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <span class="label">Scope</span>
        <div class="row">
          <Segments
            label="Scope"
            choices={SCOPES.map(([value, text]) => [value, text] as const)}
            value={scope}
            onChoose={setScope}
          />
          <span class="small soft">{SCOPES.find(([value]) => value === scope)?.[2]}</span>
        </div>
      </div>
      <div class="field">
        <span class="label">Lives</span>
        <Segments label="Lives" choices={Object.entries(LIVES) as [Life, string][]} value={life} onChoose={setLife} />
      </div>
    </SecretDialog>
  )
}

export function RotateDialog({ apiKey, onClose }: DialogProps & { readonly apiKey: Key }) {
  const [grace, setGrace] = useState<Grace>('3600')
  const make = () =>
    call('rotateKey', {
      path: { id: apiKey.id },
      body: grace === '' ? {} : { grace_in_second: Number(grace) },
    })
  return (
    <SecretDialog title={`Replace ${apiKey.name}`} action="Make the new key" make={make} onClose={onClose}>
      <p>Makes a second key with the same name and scopes, for its user to change to.</p>
      <div class="field">
        <span class="label">The old one ends</span>
        <Segments
          label="The old one ends"
          choices={(['0', '3600', '86400', ''] as const).map((value) => [value, GRACES[value]] as const)}
          value={grace}
          onChoose={setGrace}
        />
      </div>
    </SecretDialog>
  )
}

interface SecretDialogProps extends DialogProps {
  readonly title: string
  readonly action: string
  readonly make: () => Promise<KeyWithSecret>
  readonly children: ComponentChildren
}

/** A form. After success it shows the secret, once. */
function SecretDialog({ title, action, make, onClose, children }: SecretDialogProps) {
  const [made, setMade] = useState<KeyWithSecret>()
  if (made === undefined) {
    return (
      <ConfirmDialog
        title={title}
        action={action}
        onConfirm={async () => setMade(await make())}
        onDone={() => {}}
        onClose={onClose}
      >
        {children}
      </ConfirmDialog>
    )
  }
  return (
    <Dialog title={`The key ${made.key.name}`} onClose={onClose}>
      <p class="note warn">This is shown once, and not kept. Copy it now.</p>
      <p class="code mono secret">{made.secret}</p>
      <div class="dialog-foot">
        <CopyButton label="Copy" text={() => made.secret} />
        <button type="button" class="button main" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
