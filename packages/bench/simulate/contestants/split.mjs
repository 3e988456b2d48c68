import { createReadStream } from 'node:fs'

export const role = 'floor'
export const packageName = null
export const call = "a stream of text chunks, each split('\\n'); only counts lines"

/** @param {string} file */
export async function read(file) {
  let lines = 0
  let rest = ''
  for await (const chunk of createReadStream(file, 'utf8')) {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    lines += parts.length
  }
  return lines
}
