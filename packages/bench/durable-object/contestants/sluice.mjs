// Ours: the public API over a Durable Object store. worker.mjs has its code.

export const role = 'sluice'
export const packageName = 'sluice'
export const call = 'await limiter.hit(key), one object'
