// Chooses the server of a name, the same way in every process, by rendezvous hashing: each server has a score for the name, and the highest score wins.
// Invariants: the order of the list does not matter. If a server is added, the only names that move are those that move to it. If a
// server is removed, the only names that move are its own.

export class ServerChoice {
  /** One number for each server, in the order of the list. */
  readonly #seeds: readonly number[]

  /** `servers` are the names of the servers. */
  constructor(servers: readonly string[]) {
    this.#seeds = servers.map((server) => mixed(hashOf(server)))
  }

  /** Returns the index of the server that keeps `name`. */
  indexOf(name: string): number {
    const seeds = this.#seeds
    if (seeds.length === 1) return 0
    const hash = hashOf(name)
    let best = 0
    let bestScore = -1
    for (let i = 0; i < seeds.length; i++) {
      const score = mixed(hash ^ seeds[i])
      if (score > bestScore) {
        best = i
        bestScore = score
      }
    }
    return best
  }
}

/** FNV-1a over UTF-16 units, 32 bits. It has no secret: a client that chooses its keys can choose their server, and gains nothing. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** Spreads a 32-bit number over all bits, with the constants of murmur3's last step. Different numbers stay different. */
function mixed(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
