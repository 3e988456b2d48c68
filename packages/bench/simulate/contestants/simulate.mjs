import { replay } from '../replay.mjs'

export const role = 'sluice'
export const packageName = 'sluice-server'
export const call = 'sluice simulate --no-limits: reads, parses and decides each line'

/** @param {string} file */
export const read = (file) => replay(file, false)
