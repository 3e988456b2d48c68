/** Quota of every contestant where hits shall be allowed: out of reach within a run, and no window ends in it. */
export const ROOMY_QUOTA = { limit: 1_000_000_000, windowMs: 3_600_000 }
