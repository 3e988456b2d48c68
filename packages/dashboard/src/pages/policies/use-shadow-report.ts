// The report of a policy in shadow mode, while a page shows it.

import type { ShadowReport } from '../../api/answers.ts'
import { type Polled, usePolled } from '../../api/polled.ts'

/** Other instances publish their counts every five seconds. */
const EVERY_MS = 5000

const MOST_CLIENTS = 10

/** Undefined: there is no report to read. */
export function useShadowReport(name: string | undefined): Polled<ShadowReport> {
  return usePolled(
    'getShadowReport',
    name === undefined ? undefined : { path: { name }, query: { limit: MOST_CLIENTS } },
    EVERY_MS,
  )
}
