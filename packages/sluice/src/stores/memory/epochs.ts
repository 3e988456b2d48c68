// The epochs of a table. The age of its rows is counted in them.

/** Number of epochs in which as many rows are claimed as there are. */
const EPOCHS_A_TURN = 8

/**
 * An epoch ends when an eighth of the table's rows were claimed in the table, or an eighth of the store's rows in the store. The
 * number of rows is that of now, not of `maxKeys`, because bytes may allow far fewer rows. The first condition is for a table that
 * is full while the store is not. The second is for a table without new rows in a full store.
 */
export class Epochs {
  /** Modulo 256. */
  present = 0
  #inTable = 0
  #inStore = 0

  /** Counts a claim in this table or in another one. */
  countClaim(tableRows: number, storeRows: number, isOwn: boolean): void {
    this.#inStore += 1
    if (isOwn) this.#inTable += 1
    const isLeft = EPOCHS_A_TURN * this.#inTable < tableRows && EPOCHS_A_TURN * this.#inStore < storeRows
    if (isLeft) return
    this.#inTable = 0
    this.#inStore = 0
    this.present = (this.present + 1) & 255
  }
}
