// Statistics of one door.

export class DoorStats {
  /** Connections that are open now. */
  open = 0
  /** Connections since the start, and those that were refused because too many were open. */
  accepted = 0
  refused = 0
  /** Commands that were answered, and those of them that were answered with an error. */
  commands = 0
  errors = 0
}
