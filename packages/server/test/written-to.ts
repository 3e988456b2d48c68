import type { Readable } from 'node:stream'

/** All that was written to a stream since it was last asked for. */
export function writtenTo(stream: Readable): string {
  let text = ''
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) text += chunk
  return text
}
