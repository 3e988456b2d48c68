/** Quota of contestants whose hits are allowed: no run reaches the limit or the end of the window. */
export const LARGE_QUOTA = { limit: 1_000_000_000, windowMs: 3_600_000 }
