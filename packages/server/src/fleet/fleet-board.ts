// The board of a fleet: a place in the shared database with one small text of each instance.
// Invariant: the board is bounded. It has at most MOST_INSTANCES texts of at most MOST_TEXT_CHARACTERS, and forgets a text after
// FORGOTTEN_MS. The clock of the database decides.

/** Maximum number of instances on a board. If there are more, the ones that were heard of longest ago are removed. */
export const MOST_INSTANCES = 200

/** An instance that has not published for this long is forgotten. */
export const FORGOTTEN_MS = 600_000

export const MOST_TEXT_CHARACTERS = 16_384

export interface PublishedText {
  readonly id: string
  readonly text: string
  /** Time since it was published. */
  readonly ageMs: number
}

export interface FleetBoard {
  /** Replaces the text of an instance. Removes forgotten ones. */
  publish(id: string, text: string): Promise<void>
  /** Returns the texts that are not forgotten. */
  read(): Promise<readonly PublishedText[]>
}
