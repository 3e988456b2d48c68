// Ends connections to PostgreSQL, also if the server does not close its side.

import type { ClientBase } from 'pg'

/** Time that the server has to close its side. */
const CLOSE_MS = 500

/** Cuts connections that are still open after a while. Call it when they have been asked to end. */
export function cutLater(clients: Iterable<ClientBase>): void {
  const open = [...clients] as unknown as readonly { readonly connection?: { readonly stream?: { destroy(): void } } }[]
  setTimeout(() => {
    for (const { connection } of open) connection?.stream?.destroy()
  }, CLOSE_MS).unref()
}
