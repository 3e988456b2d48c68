// Collects a page of an audit log from entries that are read from the newest to the oldest.
// Invariant: a page ends after `limit` matches, or after MOST_LOOKED_AT entries. The cursor of the next page is the last entry that was
// looked at, so that no entry is skipped or read twice.

import { type AuditEntry, type AuditPage, type AuditReadOptions, MOST_LOOKED_AT, MOST_READ } from './audit-entry.ts'

export class PageReader {
  readonly #target: string | undefined
  readonly #search: string | undefined
  readonly #searchedTargets: ReadonlySet<string>
  readonly #most: number
  readonly #entries: AuditEntry[] = []
  #next: string | undefined
  #lookedAt = 0

  constructor({ limit = 100, target, search, searchedTargets = new Set(), before }: AuditReadOptions) {
    this.#target = target
    this.#search = search?.toLowerCase()
    this.#searchedTargets = searchedTargets
    this.#most = Math.min(limit, MOST_READ)
    this.#next = before
  }

  /** True if nothing more may be looked at. */
  get isFull(): boolean {
    return this.#entries.length >= this.#most || this.#lookedAt >= MOST_LOOKED_AT
  }

  /** Number of entries that the storage should read at once: one more than the page if every entry matches. */
  get atOnce(): number {
    return this.#target === undefined && this.#search === undefined ? this.#most + 1 : MOST_READ
  }

  /** The cursor of the last entry that was looked at. */
  get next(): string | undefined {
    return this.#next
  }

  /** Looks at an entry. One that cannot be read is skipped, so that it does not hide the others. */
  look(cursor: string, written: string): void {
    this.#lookedAt += 1
    this.#next = cursor
    const entry = readEntry(written)
    if (entry !== undefined && this.#matches(entry)) this.#entries.push(entry)
  }

  /** The page. `isEnd` is true if there are no older entries. */
  page(isEnd: boolean): AuditPage {
    return { entries: this.#entries, next: isEnd ? undefined : this.#next, lookedAt: this.#lookedAt }
  }

  #matches({ action, target, actor, actorName = '' }: AuditEntry): boolean {
    if (this.#target !== undefined && this.#target !== target) return false
    const search = this.#search
    if (search === undefined || this.#searchedTargets.has(target)) return true
    return [action, target, actor, actorName].some((text) => String(text).toLowerCase().includes(search))
  }
}

export function readEntry(written: string): AuditEntry | undefined {
  try {
    return JSON.parse(written)
  } catch {
    return undefined
  }
}
