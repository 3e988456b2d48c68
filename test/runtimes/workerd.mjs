// The portable tests in workerd, within one request, and the suite for stores on Durable Objects.

import { fileURLToPath } from 'node:url'
import { startWorker } from '../servers/workerd-server.mjs'

/** @import { Outcome } from './collected-tests.ts' */
/** @import { PortableSettings } from './portable/index.ts' */

/**
 * @param {string} file path of the bundle
 * @param {PortableSettings} settings
 * @returns {Promise<Outcome>}
 */
export async function runInWorkerd(file, settings) {
  const code = `
    import { runPortable } from ${JSON.stringify(file)}
    export default {
      async fetch(request: Request) {
        if (request.method !== 'POST') return new Response('started')
        return Response.json(await runPortable(await request.json()))
      },
    }`
  const worker = await startWorker({ code, folder: '.' })
  try {
    const response = await fetch(worker.url, { method: 'POST', body: JSON.stringify(settings) })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`workerd answered ${response.status}: ${text}\n${worker.printed()}`)
    return JSON.parse(text)
  } finally {
    await worker.stop()
  }
}

const OBJECTS_FOLDER = fileURLToPath(new URL('../../packages/sluice/test/durable-object', import.meta.url))

/**
 * Runs the suite for stores on Durable Objects.
 * @param {{ seed: number, steps: number, shards: number }} settings
 * @returns {Promise<Outcome>}
 */
export async function runObjectsInWorkerd({ seed, steps, shards }) {
  const worker = await startObjectsWorker()
  try {
    return await worker.run({ seed, steps, shards })
  } finally {
    await worker.stop()
  }
}

/** Starts the Worker that runs the suite for stores on Durable Objects. */
export async function startObjectsWorker() {
  const code = "export { default, SuiteObject } from './suite-worker.ts'"
  const worker = await startWorker({ code, folder: OBJECTS_FOLDER, objects: { SLUICE: 'SuiteObject' } })
  /**
   * @param {{ seed: number, steps: number, shards: number }} settings
   * @returns {Promise<Outcome>}
   */
  const run = async ({ seed, steps, shards }) => {
    const response = await fetch(`${worker.url}/suite?shards=${shards}&steps=${steps}&seed=${seed}`)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`workerd answered ${response.status}: ${text}\n${worker.printed()}`)
    return JSON.parse(text)
  }
  return { run, stop: worker.stop }
}
