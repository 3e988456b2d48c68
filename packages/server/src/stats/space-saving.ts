// The items that were seen most, in bounded memory: the Space-Saving sketch of Metwally, Agrawal and El Abbadi.
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
  /** Where it stands in the heap. */
  at: number
}

export class SpaceSaving {
  readonly #most: number
  readonly #steps: number
  readonly #nodes = new Map<string, Node>()
  /** The node with the smallest count first. */
  readonly #heap: Node[] = []

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
    return this.#heap.length < this.#most ? 0 : this.#heap[0].count
  }

  /** `step` is the step of time that it is seen in, from 0. */
  add(item: string, step: number): void {
    let node = this.#nodes.get(item)
    if (node !== undefined) {
      node.count += 1
      this.#sink(node)
    } else if (this.#heap.length < this.#most) {
      node = { item, count: 1, error: 0, bySteps: new Uint32Array(this.#steps), at: this.#heap.length }
      this.#nodes.set(item, node)
      this.#heap.push(node)
      this.#rise(node)
    } else {
      node = this.#replaceLeast(item)
    }
    node.bySteps[step] += 1
  }

  get(item: string): Counted | undefined {
    return this.#nodes.get(item)
  }

  items(): IterableIterator<string> {
    return this.#nodes.keys()
  }

  /** The newcomer takes the place of the item that was seen least, and its count, since it may have been seen as often before. */
  #replaceLeast(item: string): Node {
    const [node] = this.#heap
    this.#nodes.delete(node.item)
    node.item = item
    node.error = node.count
    node.count += 1
    node.bySteps.fill(0)
    this.#nodes.set(item, node)
    this.#sink(node)
    return node
  }

  #sink(node: Node): void {
    const heap = this.#heap
    let at = node.at
    for (;;) {
      let child = at * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1].count < heap[child].count) child += 1
      if (heap[child].count >= node.count) break
      heap[at] = heap[child]
      heap[at].at = at
      at = child
    }
    heap[at] = node
    node.at = at
  }

  #rise(node: Node): void {
    const heap = this.#heap
    let at = node.at
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (heap[parent].count <= node.count) break
      heap[at] = heap[parent]
      heap[at].at = at
      at = parent
    }
    heap[at] = node
    node.at = at
  }
}
