// Entries of a lock file that npm downloads.

/** @typedef {{ name?: string, version?: string, link?: boolean, resolved?: string, integrity?: string }} LockEntry */

/**
 * Leaves out the workspace itself, its packages and the links to them.
 * @param {{ packages: Record<string, LockEntry> }} lock
 */
export function lockEntries(lock) {
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path.includes('node_modules/') && !entry.link)
    .map(([path, entry]) => ({ name: entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 13), entry }))
}
