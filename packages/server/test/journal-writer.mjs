// Changes records as fast as possible and prints each step to standard output, until it is killed.
// Prints `try <id> <version> put|drop` before each change and `ok <id> <version>` after its commit. Versions only grow.

import { writeSync } from 'node:fs'
import { DataFolder } from '../dist/backends/folder/data-folder.js'

const [folder, from] = process.argv.slice(2)
const { records } = await DataFolder.open(folder, { compactAtBytes: 3000 })
let version = Number(from)
/** @param {string} text */
const say = (text) => writeSync(1, `${text}\n`)

/** @param {number} writer */
async function change(writer) {
  for (;;) {
    version += 1
    const own = version
    const id = `${writer}-${own % 5}`
    const isPut = own % 4 !== 0
    say(`try ${id} ${own} ${isPut ? 'put' : 'drop'}`)
    await records.commit([{ kind: 'policy', id, value: isPut ? { version: own, text: 'x'.repeat(own % 300) } : undefined }])
    say(`ok ${id} ${own}`)
  }
}

await Promise.all([1, 2, 3].map(change))
