// The arena of sliding logs. A log is a block in a typed array, which is called a slab. So a log is no object, and makes no work
// for the garbage collector. Blocks have few widths. The slabs of one width are a shelf. A shelf has no gaps: when a block is
// freed, the last block of the shelf moves into the gap, and `onMove` reports its new handle. So empty slabs can be dropped.
// A long log has a slab of its own. It moves to a slab of another width a few entries at a time.
// Invariant: a handle names one block until the block is freed or `onMove` reports its new handle.

import { type LogBudget, lackingLogBytes } from '../../core/log-budget.ts'
import type { Rule } from '../../core/rule.ts'
import type { LogArena, LogOwner, LogRule } from '../../core/rule-log.ts'

/** Cells of a slab that blocks share: 64 KiB. */
const SLAB_CELLS = 8192

/** Blocks up to this width, 8 KiB, share slabs and are copied at once. */
const MOST_SHARED_WIDTH = 1024

/**
 * Entries of a long log that one call copies. A call adds at most one entry, so copying ends long before the old slab is full.
 */
const COPIED_AT_ONCE = 4
/** The most entries that one call copies, for a log that began to move late, such as one that was restored nearly full. */
const MOST_COPIED_AT_ONCE = 64

/** Number of cells before the log: the fingerprint of the owner. */
const OWNER = 1

/** The most shelves. A handle is a block's number times this, plus the index of its shelf. */
const SHELVES = 1024

interface Slab {
  readonly cells: Float64Array
  /** The same bytes as 32-bit words. A fingerprint is two of them. */
  readonly words: Int32Array
  /** The slab that a long log is moving to. */
  next: NextSlab | undefined
}

interface NextSlab {
  readonly cells: Float64Array
  /** Entries with numbers below this have been copied. */
  copied: number
}

interface Shelf {
  readonly index: number
  /** Number of cells of a block, including the owner. */
  readonly width: number
  readonly blocksASlab: number
  readonly slabs: Slab[]
  used: number
}

export class LogBlocks implements LogArena {
  readonly #budget: LogBudget
  readonly #onMove: (owner: LogOwner, handle: number) => void
  readonly #shelves: Shelf[] = []
  readonly #byWidth = new Map<number, Shelf>()

  /** Calls `onMove` for each log whose handle has changed. */
  constructor(budget: LogBudget, onMove: (owner: LogOwner, handle: number) => void) {
    this.#budget = budget
    this.#onMove = onMove
  }

  /** Bytes of all slabs. */
  get bytes(): number {
    let cells = 0
    for (const { slabs } of this.#shelves) for (const slab of slabs) cells += slab.cells.length + (slab.next?.cells.length ?? 0)
    return cells * Float64Array.BYTES_PER_ELEMENT
  }

  cells(handle: number): Float64Array {
    const shelf = this.#shelfOf(handle)
    return shelf.slabs[Math.floor(blockOf(handle) / shelf.blocksASlab)].cells
  }

  at(handle: number): number {
    const shelf = this.#shelfOf(handle)
    return (blockOf(handle) % shelf.blocksASlab) * shelf.width + OWNER
  }

  smallestBytes(rule: LogRule): number {
    return bytesOf(blockWidth(rule, 0))
  }

  allocate(rule: LogRule, owner: LogOwner): number {
    const handle = this.#take(blockWidth(rule, 0), owner)
    const cells = this.cells(handle)
    const at = this.at(handle)
    cells.fill(0, at, at + rule.width)
    rule.log.frame(cells, at, cells, at, this.#shelfOf(handle).width - OWNER)
    return handle
  }

  block(handle: number): Float64Array {
    const at = this.at(handle)
    return this.cells(handle).subarray(at, at + this.#shelfOf(handle).width - OWNER)
  }

  adopt(block: Float64Array, owner: LogOwner): number {
    const handle = this.#take(block.length + OWNER, owner)
    this.block(handle).set(block)
    return handle
  }

  bytesOf(handle: number): number {
    return bytesOf(this.#shelfOf(handle).width)
  }

  lackingToFit(rule: LogRule, handle: number): number {
    return this.#slabOf(handle).next === undefined ? this.#lackingFor(handle, this.#wantedWidth(rule, handle)) : 0
  }

  fit(rule: LogRule, handle: number, owner: LogOwner): number {
    const { width } = this.#shelfOf(handle)
    if (!isShared(width)) return this.#fitLong(rule, handle, owner)
    const wanted = this.#wantedWidth(rule, handle)
    if (wanted === width || this.#lackingFor(handle, wanted) > 0) return handle
    const to = this.#take(wanted, owner)
    rule.log.move(this.cells(handle), this.at(handle), this.cells(to), this.at(to), wanted - OWNER)
    this.free(handle)
    return to
  }

  /** Frees a block. The last block of its width moves into the gap. */
  free(handle: number): void {
    if (handle === 0) return
    const shelf = this.#shelfOf(handle)
    const { width, blocksASlab, slabs } = shelf
    const { next } = this.#slabOf(handle)
    if (next !== undefined) this.#budget.logs -= next.cells.byteLength
    const last = shelf.used - 1
    if (blockOf(handle) !== last) this.#moveBlock(shelf, last, handle)
    shelf.used = last
    this.#budget.logs -= bytesOf(width)
    if (blocksASlab === 1) slabs.pop()
    // An empty shared slab is kept until half of the slab before it is empty too. Otherwise calls could make and drop it in turn.
    else if (slabs.length * blocksASlab - last >= 1.5 * blocksASlab || last === 0) slabs.length = Math.ceil(last / blocksASlab)
  }

  #fitLong(rule: LogRule, handle: number, owner: LogOwner): number {
    const slab = this.#slabOf(handle)
    const { log } = rule
    const from = slab.cells
    slab.next ??= this.#beginMove(rule, handle)
    const { next } = slab
    if (next === undefined) return handle
    const newest = log.end(from, OWNER) - 1
    // Since the last call entries may have been dropped from either end, and copied ones may have changed.
    const first = log.first(from, OWNER)
    const copied = Math.max(first, Math.min(next.copied, newest))
    const start = log.firstChanged(from, OWNER, next.cells, OWNER, first, copied)
    const left = Math.max(1, from.length - OWNER - log.widthToSpend(from, OWNER))
    const pace = Math.min(MOST_COPIED_AT_ONCE, Math.max(COPIED_AT_ONCE, Math.ceil((4 * (newest - start)) / left)))
    next.copied = Math.min(start + pace, newest)
    log.copy(from, OWNER, next.cells, OWNER, start, next.copied)
    if (next.copied < newest) return handle
    log.copy(from, OWNER, next.cells, OWNER, newest, newest + 1)
    log.frame(from, OWNER, next.cells, OWNER, next.cells.length - OWNER)
    slab.next = undefined
    this.#budget.logs -= next.cells.byteLength
    const to = this.#place(next.cells, owner)
    this.free(handle)
    return to
  }

  #beginMove(rule: LogRule, handle: number): NextSlab | undefined {
    const wanted = this.#wantedWidth(rule, handle)
    if (wanted === this.#shelfOf(handle).width || this.#lackingFor(handle, wanted) > 0) return undefined
    const cells = new Float64Array(wanted)
    this.#budget.logs += cells.byteLength
    rule.log.frame(this.cells(handle), OWNER, cells, OWNER, wanted - OWNER)
    return { cells, copied: 0 }
  }

  /** Returns the bytes that a log lacks to have the width `wanted`. */
  #lackingFor(handle: number, wanted: number): number {
    const { width } = this.#shelfOf(handle)
    if (wanted === width) return 0
    // Both slabs exist while a long log moves.
    const bytes = bytesOf(isShared(width) ? wanted - width : wanted)
    return lackingLogBytes(this.#budget, bytes, wanted > width && !isShared(wanted))
  }

  /** Returns the width that a log should have. It is another one than now only if the block is too narrow or far too wide. */
  #wantedWidth(rule: LogRule, handle: number): number {
    const { width } = this.#shelfOf(handle)
    const needed = rule.log.widthToSpend(this.cells(handle), this.at(handle))
    // A long log begins to move when it is half full.
    const narrow = isShared(width) ? needed + OWNER > width : 2 * needed > width
    if (narrow) return blockWidth(rule, isShared(width) ? needed : width)
    return 8 * needed < width ? blockWidth(rule, 2 * needed) : width
  }

  /** Adds a filled slab to the shelf of its width. */
  #place(cells: Float64Array, owner: LogOwner): number {
    if (isShared(cells.length)) return this.adopt(cells.subarray(OWNER), owner)
    const shelf = this.#shelf(cells.length)
    shelf.slabs.push(slabOf(cells))
    this.#budget.logs += cells.byteLength
    return this.#own(shelf, shelf.used++, owner)
  }

  #take(width: number, owner: LogOwner): number {
    const shelf = this.#shelf(width)
    const { blocksASlab, slabs } = shelf
    if (shelf.used === slabs.length * blocksASlab) slabs.push(slabOf(new Float64Array(blocksASlab * width)))
    this.#budget.logs += bytesOf(width)
    return this.#own(shelf, shelf.used++, owner)
  }

  #own(shelf: Shelf, block: number, { lo, hi }: LogOwner): number {
    const handle = handleOf(shelf, block)
    const { words } = this.#slabOf(handle)
    const word = 2 * (this.at(handle) - OWNER)
    words[word] = lo
    words[word + 1] = hi
    return handle
  }

  /** Moves a block to the position of another block of its shelf. */
  #moveBlock(shelf: Shelf, block: number, to: number): void {
    const from = handleOf(shelf, block)
    if (shelf.blocksASlab === 1) {
      shelf.slabs[blockOf(to)] = shelf.slabs[block]
    } else {
      // `set` copies bit by bit. Reading a fingerprint as a double could give a NaN, whose bits are not kept.
      const at = this.at(from) - OWNER
      this.cells(to).set(this.cells(from).subarray(at, at + shelf.width), this.at(to) - OWNER)
    }
    const { words } = this.#slabOf(to)
    const word = 2 * (this.at(to) - OWNER)
    this.#onMove({ lo: words[word], hi: words[word + 1] }, to)
  }

  #slabOf(handle: number): Slab {
    const shelf = this.#shelfOf(handle)
    return shelf.slabs[Math.floor(blockOf(handle) / shelf.blocksASlab)]
  }

  #shelfOf(handle: number): Shelf {
    return this.#shelves[handle % SHELVES]
  }

  #shelf(width: number): Shelf {
    let shelf = this.#byWidth.get(width)
    if (shelf === undefined) {
      const blocksASlab = isShared(width) ? Math.floor(SLAB_CELLS / width) : 1
      shelf = { index: this.#shelves.length, width, blocksASlab, slabs: [], used: 0 }
      this.#shelves.push(shelf)
      this.#byWidth.set(width, shelf)
    }
    return shelf
  }
}

function slabOf(cells: Float64Array): Slab {
  return { cells, words: new Int32Array(cells.buffer), next: undefined }
}

function handleOf({ index }: Shelf, block: number): number {
  return (block + 1) * SHELVES + index
}

function blockOf(handle: number): number {
  return Math.floor(handle / SHELVES) - 1
}

function isShared(width: number): boolean {
  return width <= MOST_SHARED_WIDTH
}

/**
 * Returns the width of a block for a log of `needed` cells: a header and 4, 8, 16 … cells of entries. Doubling makes moves rare.
 */
function blockWidth({ width: header }: Rule, needed: number): number {
  let entries = 4
  while (header + entries < needed) entries *= 2
  return OWNER + header + entries
}

function bytesOf(width: number): number {
  return width * Float64Array.BYTES_PER_ELEMENT
}
