import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'

export const role = 'floor'
export const packageName = null
export const call = 'for await over node:readline; only counts lines'

/** @param {string} file */
export async function read(file) {
  let lines = 0
  for await (const _ of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) lines += 1
  return lines
}
