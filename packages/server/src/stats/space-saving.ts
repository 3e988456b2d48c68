// The most frequent items, in bounded memory: the Space-Saving sketch of Metwally, Agrawal and El Abbadi, with the filter of
// Homem and Carvalho, which makes rare items cheap.
// Invariant: for every kept item, count − error ≤ occurrences ≤ count. An item that is not kept occurred at most `least` times.

export interface Counted {
  readonly item: string
  /** Upper bound of the occurrences. */
  readonly count: number
  /** The most by which `count` may be too high. */
  readonly error: number
  /** Occurrences in each step of time, since the item is kept. */
  readonly bySteps: Uint32Array
}

interface Node extends Counted {
  item: string
  /** The cell of the item. */
  cell: number
  count: number
  error: number
  /** The count by which the heap is ordered. It may lag behind `count`. */
  knownCount: number
}

/** Items that are not kept share this many counters, by hash. */
const CELLS = 8192

export class SpaceSaving {
  readonly #most: number
  readonly #steps: number
  readonly #nodes = new Map<string, Node>()
  /**
   * Heap by `knownCount`, smallest first. Until the sketch is full, all of them are 0. Counts only grow, so if the first node's
   * `knownCount` is up to date, no other count is smaller.
   */
  readonly #heap: Node[] = []
  /** Upper bound of the occurrences of items that are not kept, by hash. Never exceeds the smallest kept count. */
  readonly #cells = new Uint32Array(CELLS)
  /** Number of kept items, by hash. Most items are not kept, and most of them are found to be so without a look into the map. */
  readonly #keptByCell = new Uint16Array(CELLS)

  /** Keeps `most` items, each with its occurrences in `steps` steps of time. */
  constructor(most: number, steps: number) {
    this.#most = most
    this.#steps = steps
  }

  get size(): number {
    return this.#heap.length
  }

  /** Upper bound of the occurrences of an item that is not kept. */
  get least(): number {
    return this.#heap.length < this.#most ? 0 : this.#leastNode().count
  }

  /** `step` is the current step of time, starting at 0. */
  add(item: string, step: number): void {
    const cell = cellOf(item)
    let node = this.#keptByCell[cell] === 0 ? undefined : this.#nodes.get(item)
    if (node !== undefined) {
      node.count += 1
    } else if (this.#heap.length < this.#most) {
      node = { item, cell, count: 1, error: 0, bySteps: new Uint32Array(this.#steps), knownCount: 0 }
      this.#keep(node)
      this.#heap.push(node)
    } else {
      const count = this.#cells[cell] + 1
      node = this.#leastNode()
      if (count <= node.count) {
        this.#cells[cell] = count
        return
      }
      this.#replace(node, item, cell, count)
    }
    node.bySteps[step] += 1
  }

  get(item: string): Counted | undefined {
    return this.#nodes.get(item)
  }

  items(): IterableIterator<string> {
    return this.#nodes.keys()
  }

  /** Replaces the item of the node with the smallest count by an item with at most `count` occurrences. */
  #replace(node: Node, item: string, cell: number, count: number): void {
    this.#nodes.delete(node.item)
    this.#keptByCell[node.cell] -= 1
    this.#cells[node.cell] = node.count
    node.item = item
    node.cell = cell
    node.error = count - 1
    node.count = count
    node.bySteps.fill(0)
    this.#keep(node)
  }

  #keep(node: Node): void {
    this.#nodes.set(node.item, node)
    this.#keptByCell[node.cell] += 1
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

  /** Moves the first node down to its place in the heap. */
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
