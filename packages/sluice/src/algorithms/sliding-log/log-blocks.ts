// Memory for the logs of exact moving windows: blocks of a few widths, so that a log costs no object of its own and nothing for
// the garbage collector to walk. Blocks of one width stand on one shelf without gaps: when one is freed, the last takes its
// place, and its owner is told. So memory that is not needed is given back.
// Long logs have a slab each, and move to one of another width a few entries at a time.
// Invariant: a handle names one block until it is freed or its owner is told of another.

import type { Rule } from '../../core/rule.ts'
import type { LogArena, LogBudget, LogOwner, LogRule } from '../../core/rule-log.ts'

/** Cells of a slab that blocks share: 64 KiB. */
const SLAB_CELLS = 8192

/** Blocks up to this width, 8 KiB, share slabs and are copied at once. */
const MOST_SHARED_WIDTH = 1024

/** Entries of a long log that one call copies: four times what it may add, so that copying ends long before the old slab is full. */
const COPIED_AT_ONCE = 4
/** The same for a log that began late, as one does that was restored when it was nearly full. */
const MOST_COPIED_AT_ONCE = 64

/** Each block begins with the fingerprint of its owner. */
const OWNER = 1

/** Handles of one shelf are so far apart. */
const SHELVES = 1024

interface Slab {
  readonly cells: Float64Array
  /** The same bytes as words: fingerprints are two of them. */
  readonly words: Int32Array
  /** Where a long log is moving to. */
  next: NextSlab | undefined
}

interface NextSlab {
  readonly cells: Float64Array
  /** Entries numbered below this have been copied. */
  copied: number
}

interface Shelf {
  readonly index: number
  /** Cells of a block, with its owner. */
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

  /** Tells `onMove` of each log whose handle has changed. */
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

  bytesToFit(rule: LogRule, handle: number): number {
    const { width } = this.#shelfOf(handle)
    const wanted = this.#wantedWidth(rule, handle)
    if (wanted === width || this.#slabOf(handle).next !== undefined) return 0
    // Both exist while a long log moves.
    return bytesOf(isShared(width) ? wanted - width : wanted)
  }

  fit(rule: LogRule, handle: number, owner: LogOwner): number {
    const { width } = this.#shelfOf(handle)
    if (!isShared(width)) return this.#fitLong(rule, handle, owner)
    const wanted = this.#wantedWidth(rule, handle)
    if (wanted === width || !this.#budget.hasLogBytes(bytesOf(wanted - width))) return handle
    const to = this.#take(wanted, owner)
    rule.log.move(this.cells(handle), this.at(handle), this.cells(to), this.at(to), wanted - OWNER)
    this.free(handle)
    return to
  }

  /** Frees a block; the last one of its width takes its place. */
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
    // Of shared slabs an empty one is kept until half of the one before is empty too, so that two calls in turn do not make and drop it.
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
    // Entries that have been dropped since, from either end, are copied no more, or again.
    const start = Math.max(log.first(from, OWNER), Math.min(next.copied, newest))
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
    if (wanted === this.#shelfOf(handle).width || !this.#budget.hasLogBytes(bytesOf(wanted))) return undefined
    const cells = new Float64Array(wanted)
    this.#budget.logs += cells.byteLength
    rule.log.frame(this.cells(handle), OWNER, cells, OWNER, wanted - OWNER)
    return { cells, copied: 0 }
  }

  /** The width that a log should have: that of its block unless that is too narrow or far too wide. */
  #wantedWidth(rule: LogRule, handle: number): number {
    const { width } = this.#shelfOf(handle)
    const needed = rule.log.widthToSpend(this.cells(handle), this.at(handle))
    // A long log begins to move when half of it is taken.
    const narrow = isShared(width) ? needed + OWNER > width : 2 * needed > width
    if (narrow) return blockWidth(rule, isShared(width) ? needed : width)
    return 8 * needed < width ? blockWidth(rule, 2 * needed) : width
  }

  /** Puts a slab that has been filled where blocks of its width are. */
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

  /** Moves a block to the place of another of its shelf. */
  #moveBlock(shelf: Shelf, block: number, to: number): void {
    const from = handleOf(shelf, block)
    if (shelf.blocksASlab === 1) {
      shelf.slabs[blockOf(to)] = shelf.slabs[block]
    } else {
      // Typed arrays of one kind are copied bit by bit: a fingerprint read as a double may be a NaN, whose bits are not kept.
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

/** Cells of a block for a log of so many. Sizes double, so that a log moves rarely: the header and 4, 8, 16 … cells of entries. */
function blockWidth({ width: header }: Rule, needed: number): number {
  let entries = 4
  while (header + entries < needed) entries *= 2
  return OWNER + header + entries
}

function bytesOf(width: number): number {
  return width * Float64Array.BYTES_PER_ELEMENT
}
