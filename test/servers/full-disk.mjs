// A small file system that tests can fill. Only root can mount one.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** True if this user can mount a file system. */
export function canMount() {
  if (process.getuid?.() !== 0) return false
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mount-'))
  const disk = mountTmpfs(folder, 1)
  disk?.unmount()
  rmSync(folder, { recursive: true, force: true })
  return disk !== undefined
}

/**
 * Mounts a file system in memory below `folder`. Returns undefined if this user may not.
 * @param {string} folder
 * @param {number} megabytes
 */
export function mountTmpfs(folder, megabytes) {
  const point = mkdtempSync(join(folder, 'disk-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', point])
  if (status !== 0) return undefined
  const filler = join(point, 'filler')
  return {
    /** @param {string} name */
    path: (name) => join(point, name),
    /** Takes all space that is left. */
    fill() {
      try {
        for (;;) writeFileSync(filler, Buffer.alloc(4096), { flag: 'a' })
      } catch (error) {
        if (/** @type {{ code?: unknown }} */ (error).code !== 'ENOSPC') throw error
      }
    },
    free: () => rmSync(filler, { force: true }),
    unmount: () => spawnSync('umount', [point]),
  }
}
