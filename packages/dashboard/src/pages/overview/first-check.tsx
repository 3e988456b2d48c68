// A command that makes the first check, for a service that has seen none.

import { session } from '../../api/session.ts'
import { CopyButton } from '../../controls/copy-button.tsx'

export function FirstCheck() {
  const isKeyed = session.value.status !== 'in' || session.value.keysRequired
  const command = checkCommand(location.origin, isKeyed)
  return (
    <>
      <p class="soft">No check since the start. Make the first one:</p>
      <pre class="code first-check">{command}</pre>
      <CopyButton label="Copy the command" text={() => command} />
    </>
  )
}

/** `isKeyed` is true if the service requires a key. */
export function checkCommand(origin: string, isKeyed: boolean): string {
  const key = isKeyed ? `-H "Api-Key: $SLUICE_API_KEY" ` : ''
  return `curl ${origin}/v1/check ${key}-H 'Content-Type: application/json' -d '{"client_id":"ada","route":"/v1/orders"}'`
}
