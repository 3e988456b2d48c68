// The clients that were denied most in the last hour.

import type { Top } from '../../api/answers.ts'
import { withQuery } from '../../api/call.ts'
import { Sparkline } from '../../charts/sparkline.tsx'
import { fullCount, shortCount } from '../../words/count-text.ts'

export function LimitedClients({ top }: { readonly top: Top | undefined }) {
  return (
    <section class="card list-card" aria-label="Clients limited most">
      <h2>
        Clients limited most <span class="small soft">in the last hour</span>
      </h2>
      {top === undefined ? null : top.clients.length === 0 ? (
        <p class="empty soft">No client was denied anything.</p>
      ) : (
        <table class="plain fixed-columns">
          <colgroup>
            <col />
            <col class="over-time-column" />
            <col class="estimate-column" />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Client</th>
              <th scope="col" class="over-time">
                Denied over time
              </th>
              <th scope="col" class="number">
                Denied
              </th>
            </tr>
          </thead>
          <tbody>
            {top.clients.map(({ client_id, count, error, minutes }) => (
              <tr key={client_id}>
                <td>
                  <a href={withQuery('/clients', { client: client_id })} class="clip" title={client_id}>
                    {client_id}
                  </a>
                </td>
                <td class="over-time">
                  <Sparkline counts={minutes} label={`Denied to ${client_id} over the last hour`} />
                </td>
                <td class="number" title={error > 0 ? `At least ${fullCount(count - error)}` : undefined}>
                  {error > 0 ? 'up to ' : ''}
                  {shortCount(count)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
