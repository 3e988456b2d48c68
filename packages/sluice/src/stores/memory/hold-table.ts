// The open holds of all states of a memory store, in typed arrays. A hold belongs to the row with the same fingerprint.
// It is a hash table with chaining: a hold is an entry, and the entries of a bucket are a chain. An entry that is free is in the
// chain of free entries.

import { byEnd, type Holds, lastsUntil, type NewHold, NONE_EXPIRED } from '../../core/holds.ts'
import type { Rule } from '../../core/rule.ts'

const SMALLEST = 64

/** The end of a chain. */
const NONE = -1

/** The id of an entry that is free. */
const NO_ID = -1

export class HoldTable {
  /** Number of entries that `findExpired` has read so far. */
  looked = 0
  readonly #most: number
  /** The first entry of each bucket. */
  #heads = new Int32Array(SMALLEST).fill(NONE)
  /** The next entry of the same chain. */
  #next = new Int32Array(SMALLEST)
  #lo = new Int32Array(SMALLEST)
  #hi = new Int32Array(SMALLEST)
  #ids = new Float64Array(SMALLEST)
  /** Units of each hold; negative if they are released when it expires. */
  #units = new Float64Array(SMALLEST)
  /** The time when each hold expires; Infinity for an entry that is free. */
  #expiresAt = new Float64Array(SMALLEST)
  /** The time until which each hold may count: its end, and the time for which a charge at its end counts. */
  #lastsUntil = new Float64Array(SMALLEST)
  /** The number of each hold's rule in the store. */
  #rules = new Uint16Array(SMALLEST)
  #free = NONE
  /** Number of entries that were ever used. */
  #used = 0
  #count = 0
  /** The entry that the next `findExpired` reads first. */
  #hand = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Number of open holds. */
  get count(): number {
    return this.#count
  }

  get isFull(): boolean {
    return this.#count >= this.#most
  }

  get bytes(): number {
    return this.#heads.length * 4 + this.#next.length * (2 + 3 * 4 + 4 * 8)
  }

  /** Returns the time until which a row is needed that ends at `endsAt` and has holds. */
  lastsUntil(lo: number, hi: number, endsAt: number): number {
    let until = endsAt
    for (let entry = this.first(lo, hi); entry >= 0; entry = this.next(entry)) {
      // A hold that is charged when it expires lasts for two windows after it, and lets a bucket in debt end a window later.
      const windowMs = (this.#lastsUntil[entry] - this.#expiresAt[entry]) / 2
      until = Math.max(until, this.#lastsUntil[entry], endsAt + windowMs)
    }
    return until
  }

  dropAll(lo: number, hi: number): void {
    for (let entry = this.first(lo, hi); entry >= 0; entry = this.first(lo, hi)) this.drop(entry)
  }

  first(lo: number, hi: number): number {
    return this.#matching(this.#heads[this.#bucket(lo)], lo, hi)
  }

  next(entry: number): number {
    return this.#matching(this.#next[entry], this.#lo[entry], this.#hi[entry])
  }

  id(entry: number): number {
    return this.#ids[entry]
  }

  units(entry: number): number {
    return this.#units[entry]
  }

  expiresAt(entry: number): number {
    return this.#expiresAt[entry]
  }

  /** True if the entry is that of the open hold with this id. */
  isAt(entry: number, id: number): boolean {
    return this.#ids[entry] === id
  }

  /** True if the entry is alone in its chain. */
  isOnly(entry: number): boolean {
    return this.#heads[this.#bucket(this.#lo[entry])] === entry && this.#next[entry] === NONE
  }

  /** Returns the units that a row holds; −1 if it has `most` holds or more, or if one of them has expired. */
  openUnits(lo: number, hi: number, nowMs: number, most: number): number {
    let units = 0
    let left = most
    for (let entry = this.first(lo, hi); entry >= 0; entry = this.next(entry)) {
      left -= 1
      if (left === 0 || this.#expiresAt[entry] <= nowMs) return -1
      units += Math.abs(this.#units[entry])
    }
    return units
  }

  /** True if a hold of a row has expired. */
  hasExpired(lo: number, hi: number, nowMs: number): boolean {
    return this.openUnits(lo, hi, nowMs, Number.POSITIVE_INFINITY) < 0
  }

  /** Returns the time when the last hold of a row expires; 0 if it has none. */
  lastEnd(lo: number, hi: number): number {
    let end = 0
    for (let entry = this.first(lo, hi); entry >= 0; entry = this.next(entry)) end = Math.max(end, this.#expiresAt[entry])
    return end
  }

  /** Returns a copy of a hold. */
  facts(entry: number): NewHold {
    const units = this.#units[entry]
    return { id: this.#ids[entry], units: Math.abs(units), expiresAt: this.#expiresAt[entry], isCharged: units > 0 }
  }

  /** Returns the fingerprint of the row that a hold belongs to. */
  owner(entry: number): { readonly lo: number; readonly hi: number } {
    return { lo: this.#lo[entry], hi: this.#hi[entry] }
  }

  rule(entry: number): number {
    return this.#rules[entry]
  }

  /** Reads at most `most` entries, from the one on at which the last search ended. Returns one that has expired; −1 if it finds none. */
  findExpired(nowMs: number, most: number): number {
    for (let left = Math.min(most, this.#used); left > 0; left--) {
      const entry = this.#hand
      this.#hand = entry + 1 < this.#used ? entry + 1 : 0
      this.looked += 1
      if (this.#expiresAt[entry] <= nowMs) return entry
    }
    return NONE
  }

  /** Opens a hold of a row, and returns its entry. `setUnits` and `extend` must follow. */
  open(lo: number, hi: number, rule: number): number {
    const entry = this.#take()
    this.#lo[entry] = lo
    this.#hi[entry] = hi
    this.#rules[entry] = rule
    const bucket = this.#bucket(lo)
    this.#next[entry] = this.#heads[bucket]
    this.#heads[bucket] = entry
    this.#count += 1
    return entry
  }

  /** Sets the id and the units of a hold. The units are negative if they are released when it expires. */
  setUnits(entry: number, id: number, units: number): void {
    this.#ids[entry] = id
    this.#units[entry] = units
  }

  extend(entry: number, expiresAt: number, lastsUntil: number): void {
    this.#expiresAt[entry] = expiresAt
    this.#lastsUntil[entry] = lastsUntil
  }

  drop(entry: number): void {
    const bucket = this.#bucket(this.#lo[entry])
    let before = NONE
    for (let at = this.#heads[bucket]; at !== entry; at = this.#next[at]) before = at
    this.#unlink(entry, bucket, before)
  }

  /** Takes an entry out of the chain of its bucket, in which it follows `before`, and frees it. */
  #unlink(entry: number, bucket: number, before: number): void {
    if (before === NONE) this.#heads[bucket] = this.#next[entry]
    else this.#next[before] = this.#next[entry]
    this.#ids[entry] = NO_ID
    this.#expiresAt[entry] = Number.POSITIVE_INFINITY
    this.#next[entry] = this.#free
    this.#free = entry
    this.#count -= 1
  }

  /** Drops the holds of a row that have expired, and returns them in the order of their ends. */
  takeExpired(lo: number, hi: number, nowMs: number): readonly NewHold[] {
    const bucket = this.#bucket(lo)
    let expired = NONE_EXPIRED as NewHold[]
    let before = NONE
    for (let entry = this.#heads[bucket]; entry >= 0; ) {
      const next = this.#next[entry]
      if (this.#expiresAt[entry] <= nowMs && this.#lo[entry] === lo && this.#hi[entry] === hi) {
        if (expired === NONE_EXPIRED) expired = []
        expired.push(this.facts(entry))
        this.#unlink(entry, bucket, before)
      } else before = entry
      entry = next
    }
    return expired.length > 1 ? byEnd(expired) : expired
  }

  #bucket(lo: number): number {
    return lo & (this.#heads.length - 1)
  }

  /** Returns the first entry of a row from `entry` on, in the same chain. */
  #matching(entry: number, lo: number, hi: number): number {
    let at = entry
    while (at >= 0 && (this.#lo[at] !== lo || this.#hi[at] !== hi)) at = this.#next[at]
    return at
  }

  /** Takes a free entry. */
  #take(): number {
    if (this.#free !== NONE) {
      const entry = this.#free
      this.#free = this.#next[entry]
      return entry
    }
    if (this.#used === this.#next.length) this.#grow()
    return this.#used++
  }

  /** Doubles the table. All entries are in use. */
  #grow(): void {
    const size = this.#next.length * 2
    this.#next = new Int32Array(size)
    this.#lo = longer(this.#lo, size)
    this.#hi = longer(this.#hi, size)
    this.#ids = longer(this.#ids, size)
    this.#units = longer(this.#units, size)
    this.#expiresAt = longer(this.#expiresAt, size)
    this.#lastsUntil = longer(this.#lastsUntil, size)
    this.#rules = longer(this.#rules, size)
    this.#heads = new Int32Array(size).fill(NONE)
    for (let entry = 0; entry < this.#used; entry++) {
      const bucket = this.#bucket(this.#lo[entry])
      this.#next[entry] = this.#heads[bucket]
      this.#heads[bucket] = entry
    }
  }
}

function longer<A extends Uint16Array | Int32Array | Float64Array>(array: A, length: number): A {
  const copy = new (array.constructor as new (length: number) => A)(length)
  copy.set(array)
  return copy
}

/** The holds of one row. The object is reused for the row of each call. */
export class RowHolds implements Holds {
  lo = 0
  hi = 0
  readonly rule: Rule | undefined
  readonly #table: HoldTable
  readonly #ruleNumber: number

  /** `ruleNumber` is the number of the rule in the store. Without a rule, the holds can only be read. */
  constructor(table: HoldTable, rule?: Rule, ruleNumber = 0) {
    this.rule = rule
    this.#table = table
    this.#ruleNumber = ruleNumber
  }

  get isFull(): boolean {
    return this.#table.isFull
  }

  get length(): number {
    let length = 0
    for (let hold = this.first(); hold >= 0; hold = this.next(hold)) length += 1
    return length
  }

  get units(): number {
    let units = 0
    for (let hold = this.first(); hold >= 0; hold = this.next(hold)) units += this.unitsOf(hold)
    return units
  }

  first(): number {
    return this.#table.first(this.lo, this.hi)
  }

  next(hold: number): number {
    return this.#table.next(hold)
  }

  find(id: number): number {
    for (let hold = this.first(); hold >= 0; hold = this.next(hold)) if (this.#table.id(hold) === id) return hold
    return -1
  }

  unitsOf(hold: number): number {
    return Math.abs(this.#table.units(hold))
  }

  expiresAt(hold: number): number {
    return this.#table.expiresAt(hold)
  }

  isCharged(hold: number): boolean {
    return this.#table.units(hold) > 0
  }

  facts(hold: number): NewHold {
    return this.#table.facts(hold)
  }

  add({ id, units, expiresAt, isCharged }: NewHold): void {
    const hold = this.#table.open(this.lo, this.hi, this.#ruleNumber)
    this.#table.setUnits(hold, id, isCharged ? units : -units)
    this.extend(hold, expiresAt)
  }

  extend(hold: number, expiresAt: number): void {
    const windowMs = this.rule?.windowMs ?? 0
    this.#table.extend(hold, expiresAt, lastsUntil(expiresAt, this.isCharged(hold), windowMs))
  }

  drop(hold: number): void {
    this.#table.drop(hold)
  }

  takeExpired(nowMs: number): readonly NewHold[] {
    return this.#table.takeExpired(this.lo, this.hi, nowMs)
  }
}
