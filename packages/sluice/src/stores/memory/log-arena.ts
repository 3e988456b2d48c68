// Room for the logs of exact moving windows: blocks of a few sizes, cut from slabs, so that a log costs no object of its own
// and nothing for the garbage collector to walk.
// What must stay true: a handle names one block until it is freed, and a fresh block is all zeros.

import type { Rule, RuleLog } from '../../core/rule.ts'

/** Cells of a slab, 64 KiB of them, unless one block needs more. */
const SLAB_CELLS = 8192

/** Blocks of a slab are numbered below this; the smallest block has 9 cells. */
const BLOCKS = 1024

interface Slab {
  readonly cells: Float64Array
  /** Cells of each block. */
  readonly width: number
}

export class LogArena {
  readonly #slabs: Slab[] = []
  /** Free blocks by their width. */
  readonly #free = new Map<number, number[]>()

  cells(handle: number): Float64Array {
    return this.#slabs[slabOf(handle)].cells
  }

  at(handle: number): number {
    return blockOf(handle) * this.#slabs[slabOf(handle)].width
  }

  /** A block of at least `width` cells for an empty log of `rule`; → its handle, which is never 0. */
  allocate(rule: Rule & { readonly log: RuleLog }, width: number): number {
    const blockWidth = roundUp(rule.width, width)
    const handle = this.#take(blockWidth)
    const cells = this.cells(handle)
    const at = this.at(handle)
    cells.fill(0, at, at + blockWidth)
    rule.log.move(cells, at, cells, at, blockWidth)
    return handle
  }

  /** All cells of a block, which `adopt` makes the same block of again. */
  block(handle: number): Float64Array {
    const at = this.at(handle)
    return this.cells(handle).subarray(at, at + this.#slabs[slabOf(handle)].width)
  }

  /** A block with these cells; → its handle. */
  adopt(block: Float64Array): number {
    const handle = this.#take(block.length)
    this.block(handle).set(block)
    return handle
  }

  /** The log's handle from now on, after which one more entry fits. */
  grow(rule: Rule & { readonly log: RuleLog }, handle: number): number {
    const from = this.#slabs[slabOf(handle)]
    const needed = rule.log.widthToSpend(from.cells, this.at(handle))
    if (needed <= from.width) return handle
    const larger = this.allocate(rule, needed)
    const to = this.#slabs[slabOf(larger)]
    rule.log.move(from.cells, this.at(handle), to.cells, this.at(larger), to.width)
    this.free(handle)
    return larger
  }

  free(handle: number): void {
    if (handle !== 0) this.#free.get(this.#slabs[slabOf(handle)].width)?.push(handle)
  }

  #take(width: number): number {
    let free = this.#free.get(width)
    if (free === undefined) {
      free = []
      this.#free.set(width, free)
    }
    if (free.length === 0) this.#addSlab(width, free)
    return free.pop() as number
  }

  #addSlab(width: number, free: number[]): void {
    const blocks = Math.max(1, Math.floor(SLAB_CELLS / width))
    this.#slabs.push({ cells: new Float64Array(blocks * width), width })
    for (let block = blocks - 1; block >= 0; block--) free.push(this.#slabs.length * BLOCKS + block)
  }
}

function slabOf(handle: number): number {
  return Math.floor(handle / BLOCKS) - 1
}

function blockOf(handle: number): number {
  return handle % BLOCKS
}

/** Sizes double, so that a log moves rarely: the header and 2, 4, 8 … entries of two cells. */
function roundUp(header: number, width: number): number {
  let entries = 4
  while (header + entries < width) entries *= 2
  return header + entries
}
