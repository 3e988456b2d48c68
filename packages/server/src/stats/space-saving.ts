// The items that were seen most, in bounded memory: the Space-Saving sketch of Metwally, Agrawal and El Abbadi, with the filter of
// Homem and Carvalho before it, so that those who come once cost next to nothing.
// What must stay true: for every item kept, count − error ≤ how often it was seen ≤ count; an item that is not kept was seen at most `least` times.

export interface Counted {
  readonly item: string
  /** At most so often. */
  readonly count: number
  /** By how much `count` may be too high. */
  readonly error: number
  /** How often it was seen in each step since it is kept. */
  readonly bySteps: Uint32Array
}

interface Node extends Counted {
  item: string
  count: number
  error: number
  /** What the count was when the heap last looked at it. */
  knownCount: number
}

/** Items that are not kept are counted together with those of the same hash, in so many cells. */
const CELLS = 8192

export class SpaceSaving {
  readonly #most: number
  readonly #steps: number
  readonly #nodes = new Map<string, Node>()
  /**
   * By the counts that it knows, the smallest first; 0 of all until there is no more room. Counts only grow, so if what is known of
   * the first is still right, no other is smaller.
   */
  readonly #heap: Node[] = []
  /** How often an item of each hash that is not kept may have been seen: never more than what is kept was. */
  readonly #cells = new Uint32Array(CELLS)

  /** Keeps `most` items, and of each when it was seen, in so many steps of time. */
  constructor(most: number, steps: number) {
    this.#most = most
    this.#steps = steps
  }

  get size(): number {
    return this.#heap.length
  }

  /** How often an item that is not kept may have been seen. */
  get least(): number {
    return this.#heap.length < this.#most ? 0 : this.#leastNode().count
  }

  /** `step` is the step of time that it is seen in, from 0. */
  add(item: string, step: number): void {
    let node = this.#nodes.get(item)
    if (node !== undefined) {
      node.count += 1
    } else if (this.#heap.length < this.#most) {
      node = { item, count: 1, error: 0, bySteps: new Uint32Array(this.#steps), knownCount: 0 }
      this.#nodes.set(item, node)
      this.#heap.push(node)
    } else {
      const cell = cellOf(item)
      const count = this.#cells[cell] + 1
      node = this.#leastNode()
      if (count < node.count) {
        this.#cells[cell] = count
        return
      }
      this.#replace(node, item, count)
    }
    node.bySteps[step] += 1
  }

  get(item: string): Counted | undefined {
    return this.#nodes.get(item)
  }

  items(): IterableIterator<string> {
    return this.#nodes.keys()
  }

  /** Gives the place of a node, the one that was seen least, to an item that may have been seen `count` times. */
  #replace(node: Node, item: string, count: number): void {
    this.#nodes.delete(node.item)
    this.#cells[cellOf(node.item)] = node.count
    node.item = item
    node.error = count - 1
    node.count = count
    node.bySteps.fill(0)
    this.#nodes.set(item, node)
  }

  #leastNode(): Node {
    let node = this.#heap[0]
    while (node.knownCount < node.count) {
      node.knownCount = node.count
      this.#sink(node)
      node = this.#heap[0]
    }
    return node
  }

  /** Moves the first node down to its place. */
  #sink(node: Node): void {
    const heap = this.#heap
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1].knownCount < heap[child].knownCount) child += 1
      if (heap[child].knownCount >= node.knownCount) break
      heap[at] = heap[child]
      at = child
    }
    heap[at] = node
  }
}

function cellOf(item: string): number {
  let hash = 0
  for (let i = 0; i < item.length; i++) hash = (Math.imul(hash, 31) + item.charCodeAt(i)) | 0
  return (hash ^ (hash >>> 13)) & (CELLS - 1)
}
