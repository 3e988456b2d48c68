// Differences between the timers of runtimes.

/** True on Cloudflare Workers. There a timer ends with the request that started it, so nothing runs in the background. */
export function timersEndWithRequests(): boolean {
  const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } }
  return navigator?.userAgent === 'Cloudflare-Workers'
}
