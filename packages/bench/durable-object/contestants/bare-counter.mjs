// Floor: an object with one statement per hit and nothing else. worker.mjs has its code.

export const role = 'floor'
export const packageName = null
export const call = 'stub.fetch(), then INSERT … ON CONFLICT DO UPDATE … RETURNING, one object; no expiry'
