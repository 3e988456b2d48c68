import { replay } from '../replay.mjs'

export const role = 'aside'
export const packageName = 'sluice-server'
export const call = 'sluice simulate: also decides each line under raised limits'

/** @param {string} file */
export const read = (file) => replay(file, true)
