// Prints the share of each module in the bounded bundles: its bytes after minifying, and the bytes that the compressed bundle loses
// without it. Compressed shares do not add up: what two modules have in common counts for neither.
//   node scripts/bundle-shares.mjs

import { SourceMap } from 'node:module'
import { BUNDLES, bundleOf, gzipped } from './bundle.mjs'

/**
 * Cuts a bundle into pieces, each with the file that it comes from.
 *
 * @param {string} text
 * @param {string} map
 */
function piecesOf(text, map) {
  const source = new SourceMap(JSON.parse(map))
  return text.split('\n').flatMap((line, row) => {
    /** @type {{ file: string, text: string }[]} */
    const pieces = []
    for (let column = 0; column < line.length; column++) {
      const entry = source.findEntry(row, column)
      const file = 'originalSource' in entry ? entry.originalSource.replace(/^.*\/src\//, '').replace(/^(\.\/)+/, '') : ''
      const last = pieces.at(-1)
      if (last?.file === file) last.text += line[column]
      else pieces.push({ file, text: line[column] })
    }
    return pieces
  })
}

for (const [name, exports] of Object.entries(BUNDLES)) {
  const { text, map } = await bundleOf(exports)
  const whole = gzipped(text)
  const pieces = piecesOf(text, map)
  const shares = [...new Set(pieces.map(({ file }) => file))].map((file) => {
    const rest = pieces.filter((piece) => piece.file !== file)
    const restText = rest.map((piece) => piece.text).join('')
    return { file, minified: text.length - restText.length, gzipped: whole - gzipped(restText) }
  })
  console.log(`\n${name}: ${text.length} bytes minified, ${whole} gzipped`)
  console.table(shares.sort((a, b) => b.gzipped - a.gzipped))
}
