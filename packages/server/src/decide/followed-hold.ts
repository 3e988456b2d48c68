// A hold of a caller, and those of policies in shadow mode that end with it.

import { type HeldUnits, SluiceError } from 'sluice'

/** A policy in shadow mode may have been deleted since, and nothing is left to end. */
export function openIfKnown(open: () => HeldUnits): HeldUnits | [] {
  try {
    return open()
  } catch (error) {
    if (error instanceof SluiceError) return []
    throw error
  }
}

/** Ends a hold, and with it those that follow it. If the call is wrong, it throws at once, and nothing ends. */
export async function endTogether(
  hold: HeldUnits,
  followers: readonly HeldUnits[],
  end: (part: HeldUnits) => unknown,
): Promise<void> {
  const ending = end(hold)
  await Promise.all([ending, ...followers.map((follower) => endQuietly(follower, end))])
}

/** Ends a hold of a policy in shadow mode. At worst it expires. */
export async function endQuietly(hold: HeldUnits, end: (hold: HeldUnits) => unknown): Promise<void> {
  try {
    await end(hold)
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
  }
}
