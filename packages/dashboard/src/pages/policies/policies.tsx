// The list of policies. The service runs the search, so that ten thousand policies are as fast as ten.

import { useEffect, useState } from 'preact/hooks'
import type { Policy, PolicyPage, PolicyRule } from '../../api/answers.ts'
import { call, withQuery } from '../../api/call.ts'
import { usePolled } from '../../api/polled.ts'
import { isAdmin } from '../../api/session.ts'
import { AskFailed } from '../../controls/ask-failed.tsx'
import { Icon } from '../../controls/icon.tsx'
import { SearchField } from '../../controls/search-field.tsx'
import { Segments } from '../../controls/segments.tsx'
import { putQuery, queryValue } from '../../shell/address.ts'
import { howMany } from '../../words/count-text.ts'
import { fullTime } from '../../words/time-text.ts'
import { ModeDialog } from './mode-dialog.tsx'
import './policies.css'
import { PolicyEditor } from './policy-editor.tsx'
import { HITS_SPANS, HitsCell, type HitsSpan, type PolicyHits, usePolicyHits } from './policy-hits.tsx'
import { ruleSummary } from './rule-summary.ts'

const MODE_CHIPS: Readonly<Record<Policy['mode'], string>> = { enforce: 'accent', shadow: 'shadow', off: '', deny: 'bad' }

const PAGE = 100
const EVERY_MS = 10_000

export function Policies() {
  const name = queryValue('name')
  if (queryValue('new') !== '')
    return <PolicyEditor policy={undefined} client={queryValue('client') || undefined} onChanged={() => {}} />
  return name === '' ? <PolicyList /> : <OnePolicy key={name} name={name} />
}

function OnePolicy({ name }: { readonly name: string }) {
  const policy = usePolled('getPolicy', { path: { name } }, 3_600_000)
  if (policy.error !== undefined) {
    return (
      <>
        <a href="/policies" class="small">
          All policies
        </a>
        <AskFailed of={[policy]} />
      </>
    )
  }
  if (policy.data === undefined) return null
  return <PolicyEditor key={JSON.stringify(policy.data)} policy={policy.data} onChanged={policy.again} />
}

function PolicyList() {
  const search = queryValue('search')
  const span: HitsSpan = queryValue('span') === 'month' ? 'month' : 'hour'
  const hits = usePolicyHits(span)
  const first = usePolled('listPolicies', { query: { search: search || undefined, limit: PAGE } }, EVERY_MS)
  const [more, setMore] = useState<{ readonly search: string; readonly pages: readonly PolicyPage[] }>({ search, pages: [] })
  const [switching, setSwitching] = useState<Policy>()
  useEffect(() => setMore({ search, pages: [] }), [search])
  const pages = first.data === undefined ? [] : [first.data, ...(more.search === search ? more.pages : [])]
  const next = pages.at(-1)?.next
  const load = async () => {
    const page = await call('listPolicies', { query: { search: search || undefined, limit: PAGE, after: next ?? undefined } })
    setMore((before) => (before.search === search ? { search, pages: [...before.pages, page] } : before))
  }
  const policies = pages.flatMap((page) => page.policies)
  return (
    <>
      <header class="page-head">
        <div>
          <h1>Policies</h1>
          <p>Which requests get which rules. The most specific one that fits decides.</p>
        </div>
        {isAdmin.value && (
          <a class="button main" href="/policies?new=1">
            <Icon name="plus" /> New policy
          </a>
        )}
      </header>
      <div class="filters">
        <SearchField label="Name, client or route" value={search} onInput={(value) => putQuery('search', value)} />
        <span class="small soft">{first.data === undefined ? '' : howMany(first.data.total, 'policy', 'policies')}</span>
        <span class="row hits-span">
          <span class="small soft">Checks in the</span>
          <Segments label="Checks in the" choices={HITS_SPANS} value={span} onChoose={(chosen) => putQuery('span', chosen)} />
        </span>
      </div>
      <AskFailed of={[first]} />
      <section class="card policy-list stacking" aria-label="Policies">
        {first.data !== undefined && policies.length === 0 ? (
          <p class="empty soft">No policy has this in its name, client or route.</p>
        ) : (
          <table class="plain stacks fixed-columns">
            <colgroup>
              <col class="name-column" />
              <col class="client-column" />
              <col class="route-column" />
              <col />
              <col class="hits-column" />
              <col class="mode-column" />
              {isAdmin.value && <col class="action-column" />}
            </colgroup>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Client</th>
                <th scope="col">Route</th>
                <th scope="col">Rules</th>
                <th scope="col">Checks</th>
                <th scope="col">Mode</th>
                {isAdmin.value && (
                  <th scope="col">
                    <span class="unseen">Actions</span>
                  </th>
                )}
              </tr>
            </thead>
            <tbody>
              {policies.map((policy) => (
                <PolicyRow key={policy.name} policy={policy} hits={hits} onSwitch={() => setSwitching(policy)} />
              ))}
            </tbody>
          </table>
        )}
        {next && (
          <button type="button" class="button" onClick={load}>
            Show more
          </button>
        )}
        <p class="small soft">
          Checks are those that this instance decided.
          {hits?.isComplete === false &&
            ' More than 100 policies were in use at once: some of their checks are counted together, and are not in this list.'}
        </p>
      </section>
      {switching !== undefined && (
        <ModeDialog
          policy={switching}
          onClose={() => {
            setSwitching(undefined)
            first.again()
          }}
        />
      )}
    </>
  )
}

interface PolicyRowProps {
  readonly policy: Policy
  readonly hits: PolicyHits | undefined
  readonly onSwitch: () => void
}

function PolicyRow({ policy, hits, onSwitch }: PolicyRowProps) {
  const { name, client, route, where = {}, rules = [], mode, source, expires_at, expired } = policy
  const conditions = Object.entries(where).map(([attribute, pattern]) => `${attribute}: ${pattern}`)
  return (
    <tr>
      <td>
        <span class="name-cell">
          <a class="clip" href={withQuery('/policies', { name })} title={name}>
            {name}
          </a>
          {source !== 'api' && <span class="chip">{source}</span>}
        </span>
      </td>
      <td class="mono" data-label="Client">
        <span class="clip" title={client}>
          {client}
        </span>
      </td>
      <td class="mono" data-label="Route">
        <span class="clip" title={route}>
          {route}
        </span>
      </td>
      <td class="small" data-label="Rules">
        {rules.map((rule) => ruleSummary(rule as PolicyRule)).join('; ')}
        {conditions.length > 0 && <p class="soft">if {conditions.join(', ')}</p>}
        {policy.applies === 'always' && <p class="soft">always applies</p>}
        {expires_at !== undefined && <p class="soft">{expired ? 'expired' : `until ${fullTime(expires_at)}`}</p>}
      </td>
      <td data-label="Checks">
        <HitsCell name={name} hits={hits} />
      </td>
      <td data-label="Mode">
        <span class={`chip ${MODE_CHIPS[mode]}`}>{mode}</span>
      </td>
      {isAdmin.value && (
        <td class="number">
          {source === 'api' && (
            <button
              type="button"
              class="button slim"
              aria-label={`${mode === 'enforce' ? 'Put in shadow' : 'Enforce'} ${name}`}
              onClick={onSwitch}
            >
              {mode === 'enforce' ? 'Shadow …' : 'Enforce …'}
            </button>
          )}
        </td>
      )}
    </tr>
  )
}
