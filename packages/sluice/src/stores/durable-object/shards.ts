// Spreads keys over objects, the same way in every Worker. Each key goes to the object with the highest weight for it. If the number of
// objects grows, a key stays in its object or moves to a new one.

/** Returns the number of the object that keeps all states of a key. */
export function shardOf(key: string, shards: number): number {
  if (shards === 1) return 0
  const hash = hashOf(key)
  let found = 0
  let highest = -1
  for (let shard = 0; shard < shards; shard++) {
    const weight = mixed(hash ^ mixed(shard + 1))
    if (weight > highest) {
      highest = weight
      found = shard
    }
  }
  return found
}

/** FNV-1a over UTF-16 units. It has no secret: a client that chooses its keys can choose their object, and gains nothing. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** Returns 32 bits, each of which depends on every bit of `bits`. */
function mixed(bits: number): number {
  let mix = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35)
  return (mix ^ (mix >>> 16)) >>> 0
}
