import type { Readable } from 'node:stream'

/** Returns the text written to a stream since the last call. */
export function writtenTo(stream: Readable): string {
  let text = ''
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) text += chunk
  return text
}
