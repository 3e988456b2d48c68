// The page's address: its path and query, and navigation without a reload.

import { computed, signal } from '@preact/signals'

const address = signal(read())

addEventListener('popstate', () => {
  address.value = read()
})

export const path = computed(() => address.value.pathname)

/** One value of the query. Empty if it is missing. */
export function queryValue(name: string): string {
  return address.value.searchParams.get(name) ?? ''
}

export function goTo(href: string): void {
  history.pushState(null, '', href)
  address.value = read()
  scrollTo(0, 0)
}

/** Changes the query without a new entry in the history. Used for filters. */
export function putQuery(name: string, value: string): void {
  const url = new URL(location.href)
  if (value === '') url.searchParams.delete(name)
  else url.searchParams.set(name, value)
  history.replaceState(history.state, '', url)
  address.value = read()
}

function read(): URL {
  return new URL(location.href)
}

/** Handles clicks on links to our own pages without a reload. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element).closest('a')
    if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('data-load')) return
    event.preventDefault()
    if (link.href !== location.href) goTo(link.href)
  })
}
