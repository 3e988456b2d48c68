// One policy: its form, what it would do with the last hour's traffic and with example traffic, the difference before saving, its report
// in shadow mode, and its history.

import { useMemo, useState } from 'preact/hooks'
import { LIMITS } from 'sluice-client/contract'
import type { Policy, PolicyMode } from '../../api/answers.ts'
import { ApiError } from '../../api/call.ts'
import { isAdmin } from '../../api/session.ts'
import { ConfirmDialog } from '../../controls/confirm-dialog.tsx'
import { Icon } from '../../controls/icon.tsx'
import { Segments } from '../../controls/segments.tsx'
import { goTo } from '../../shell/address.ts'
import { changePolicy } from './change-policy.ts'
import { DiffView } from './diff-view.tsx'
import { LastHour } from './last-hour.tsx'
import { changeText, proposedOf } from './last-hour-words.ts'
import { lineDiff } from './line-diff.ts'
import {
  draftOf,
  NEW_POLICY,
  newEntry,
  type PolicyDraft,
  perText,
  type RuleEntry,
  readEntries,
  readPer,
  specOf,
} from './policy-draft.ts'
import { ConditionFields, ExpiryField, ReasonFields } from './policy-fields.tsx'
import { PolicyHistory } from './policy-history.tsx'
import { policyLines } from './policy-yaml.ts'
import { RuleEntryForm } from './rule-entry.tsx'
import { ShadowReport } from './shadow-report.tsx'
import { TextField } from './text-field.tsx'
import { Trial } from './trial.tsx'
import { useSimulation } from './use-simulation.ts'

const MODES: readonly (readonly [PolicyMode, string])[] = [
  ['enforce', 'Enforce'],
  ['shadow', 'Shadow'],
  ['off', 'Off'],
  ['deny', 'Deny'],
]

const MODE_SAYS: Readonly<Record<PolicyMode, string>> = {
  enforce: 'It allows and denies requests.',
  shadow: 'It counts and reports denials, but lets every request pass.',
  off: 'It neither counts nor denies.',
  deny: 'It denies every request, and needs no rules.',
}

const APPLIES = [
  ['most-specific', 'if it is the most specific'],
  ['always', 'always'],
] as const

const APPLIES_SAYS: Readonly<Record<PolicyDraft['applies'], string>> = {
  'most-specific': 'It decides if no policy that matches is more specific.',
  always:
    'It joins the decision of every request that it matches. All rules that apply are one decision: if one denies, none is charged.',
}

const COUNTS = [
  ['route', 'each client and route'],
  ['policy', 'each client over all routes'],
  ['names', 'other keys'],
] as const

const COUNTS_SAYS: Readonly<Record<(typeof COUNTS)[number][0], string>> = {
  names: 'Names of attributes, client and route, separated by commas. Without a name, everybody shares one counter.',
  route:
    'A client has the whole limit for each route. Behind a proxy the route is the path, and a client that varies its path is not limited.',
  policy: 'A client has the limit once, whatever routes it asks for.',
}

export interface PolicyEditorProps {
  /** Undefined for a new policy. */
  readonly policy: Policy | undefined
  /** The client of a new policy. */
  readonly client?: string | undefined
  /** Called after the policy was saved or deleted. */
  readonly onChanged: () => void
}

export function PolicyEditor({ policy, client = '*', onChanged }: PolicyEditorProps) {
  const start = useMemo(() => (policy === undefined ? { ...NEW_POLICY, client } : draftOf(policy)), [policy, client])
  const [draft, setDraft] = useState(start)
  const [refused, setRefused] = useState<ApiError>()
  const [dialog, setDialog] = useState<'review' | 'delete'>()
  const read = useMemo(() => readEntries(draft.rules), [draft.rules])
  const before = useMemo(
    () => (policy === undefined ? [] : readEntries(start.rules).flatMap(({ rules }) => rules)),
    [policy, start],
  )
  const isWrong = read.some(({ problem }) => problem !== undefined)
  const after = useMemo(() => (isWrong ? [] : read.flatMap(({ rules }) => rules)), [read, isWrong])
  const spec = specOf(draft)
  const lines = lineDiff(policy === undefined ? [] : policyLines(policy), policyLines(spec))
  const isChanged = lines.some(({ kind }) => kind !== 'kept')
  const mayChange = isAdmin.value && policy?.source !== 'file'
  const proposed = proposedOf(spec)
  const simulated = useSimulation(isWrong || !mayChange ? undefined : proposed, isChanged && draft !== start)
  const change = (changes: Partial<PolicyDraft>) => {
    setRefused(undefined)
    setDraft({ ...draft, ...changes })
  }
  const counts = draft.per === undefined ? draft.scope : 'names'
  const putRule = (i: number, entry: RuleEntry) => change({ rules: draft.rules.with(i, entry) })
  const problemAt = (path: string) => refused?.messageAt(path)

  return (
    <>
      <header class="page-head">
        <div class="client-title">
          <a href="/policies" class="small">
            All policies
          </a>
          <h1 class="clip-lines" title={policy?.name}>
            {policy === undefined ? 'New policy' : policy.name}
          </h1>
        </div>
        <div class="row">
          {policy?.source === 'api' && isAdmin.value && (
            <button type="button" class="button danger" onClick={() => setDialog('delete')}>
              <Icon name="bin" /> Delete …
            </button>
          )}
          {mayChange && (
            <button type="button" class="button main" disabled={!isChanged || isWrong} onClick={() => setDialog('review')}>
              Review the change …
            </button>
          )}
        </div>
      </header>
      <WhyNot policy={policy} />
      {refused !== undefined && (
        <div class="note bad" role="alert">
          <Icon name="warning" />
          <ul>
            {(refused.problems.length === 0 ? [refused] : refused.problems).map(({ message }) => (
              <li key={message}>{message}</li>
            ))}
          </ul>
        </div>
      )}
      <div class="policy-columns">
        <fieldset class="card policy-form" disabled={!mayChange}>
          <legend class="unseen">The policy</legend>
          {policy === undefined && (
            <TextField
              label="Name"
              value={draft.name}
              problem={problemAt('name')}
              placeholder="orders"
              onInput={(name) => change({ name })}
            />
          )}
          <div class="pair">
            <TextField
              label="Client"
              value={draft.client}
              problem={problemAt('client')}
              placeholder="*"
              onInput={(client) => change({ client })}
            />
            <TextField
              label="Route"
              value={draft.route}
              problem={problemAt('route')}
              placeholder="/v1/orders"
              onInput={(route) => change({ route })}
            />
          </div>
          <p class="small soft">An exact name, a prefix that ends in *, or * for all. The most specific policy decides.</p>
          <ConditionFields conditions={draft.where} onChange={(where) => change({ where })} />
          <div class="field">
            <span class="label">Applies</span>
            <div class="row">
              <Segments label="Applies" choices={APPLIES} value={draft.applies} onChoose={(applies) => change({ applies })} />
            </div>
            <p class="small soft">{APPLIES_SAYS[draft.applies]}</p>
          </div>
          <ExpiryField
            value={draft.expiresAt}
            problem={problemAt('expires_at')}
            onChange={(expiresAt) => change({ expiresAt })}
          />
          <div class="field">
            <span class="label">Mode</span>
            <div class="row">
              <Segments label="Mode" choices={MODES} value={draft.mode} onChoose={(mode) => change({ mode })} />
              <span class="small soft">{MODE_SAYS[draft.mode]}</span>
            </div>
          </div>
          {(draft.mode === 'deny' || draft.reason !== '') && (
            <ReasonFields
              reason={draft.reason}
              isShown={draft.showsReason}
              problem={problemAt('reason')}
              onChange={(reason, showsReason) => change({ reason, showsReason })}
            />
          )}
          <div class="field">
            <span class="label">Counts</span>
            <div class="row">
              <Segments label="Counts" choices={COUNTS} value={counts} onChoose={(chosen) => change(countedBy(chosen))} />
            </div>
            {draft.per !== undefined && (
              <TextField
                label="Keys"
                value={perText(draft.per)}
                problem={problemAt('per')}
                placeholder="org, route"
                onInput={(text) => change({ per: readPer(text) })}
              />
            )}
            <p class="small soft">{COUNTS_SAYS[counts]}</p>
          </div>
          <h2>Rules</h2>
          {draft.rules.map((entry, i) => (
            <RuleEntryForm
              key={i}
              entry={entry}
              number={i + 1}
              problem={read[i]?.problem ?? problemAt(`rules[${i}]`)}
              wrong={read[i]?.wrong}
              onChange={(changed) => putRule(i, changed)}
              onRemove={
                draft.rules.length === 1 && draft.mode !== 'deny'
                  ? undefined
                  : () => change({ rules: draft.rules.toSpliced(i, 1) })
              }
            />
          ))}
          {draft.rules.length < LIMITS.mostRules && (
            <button type="button" class="button slim add-rule" onClick={() => change({ rules: [...draft.rules, newEntry()] })}>
              <Icon name="plus" /> Add a rule
            </button>
          )}
        </fieldset>
        <div class="policy-side">
          {policy?.mode === 'shadow' && <ShadowReport policy={policy} onChanged={onChanged} />}
          {mayChange && (
            <LastHour simulated={simulated} name={proposed.name} isShadow={spec.mode === 'shadow'} isRight={!isWrong} />
          )}
          <Trial before={before} after={after} />
          {policy !== undefined && isAdmin.value && <PolicyHistory name={policy.name} />}
        </div>
      </div>
      {dialog === 'review' && (
        <ConfirmDialog
          title={policy === undefined ? 'Add this policy?' : `Change ${policy.name}?`}
          action="Save"
          onConfirm={async () => {
            try {
              const { name, ...body } = spec
              await changePolicy(name, policy?.etag, body)
              onChanged()
              goTo(`/policies?name=${encodeURIComponent(name)}`)
            } catch (error) {
              if (error instanceof ApiError && error.status !== 401) setRefused(error)
              else throw error
            }
          }}
          onClose={() => setDialog(undefined)}
        >
          <DiffView lines={lines} />
          {simulated.phase === 'done' && simulated.report !== undefined && (
            <p>
              With the last hour's traffic{spec.mode === 'shadow' ? ', if it were enforced' : ''}: {changeText(simulated.report)}
            </p>
          )}
          <p class="soft">In force at once. What was used stays used where rules keep their names.</p>
        </ConfirmDialog>
      )}
      {dialog === 'delete' && policy !== undefined && (
        <ConfirmDialog
          title={`Delete ${policy.name}?`}
          action="Delete"
          isDangerous
          onConfirm={async () => {
            await changePolicy(policy.name, policy.etag, undefined)
            onChanged()
            goTo('/policies')
          }}
          onClose={() => setDialog(undefined)}
        >
          <p>What it covered falls to the next policy that fits.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

function WhyNot({ policy }: { readonly policy: Policy | undefined }) {
  if (!isAdmin.value) return <p class="note">You may look at policies. To change them, sign in with an admin key.</p>
  if (policy?.source === 'file') return <p class="note">This policy comes from the configuration file, and is changed there.</p>
  if (policy?.source === 'built-in')
    return <p class="note">This is the built-in default. Saving puts one of your own in its place.</p>
  return null
}

/** Returns the change of a draft that is counted by a scope or by names. */
function countedBy(chosen: (typeof COUNTS)[number][0]): Partial<PolicyDraft> {
  return chosen === 'names' ? { per: 'client' } : { scope: chosen, per: undefined }
}
