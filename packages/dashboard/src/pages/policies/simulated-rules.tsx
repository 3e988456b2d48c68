// The rules of a simulation: what each would deny, and the smallest limits that leave most clients untouched.

import type { Simulation } from '../../api/answers.ts'
import { fullCount, howMany } from '../../words/count-text.ts'

type SimulatedPolicy = Simulation['policies'][number]
type SimulatedRule = SimulatedPolicy['rules'][number]

/** Shows all rules of the policy called `name`, and rules of other policies that would deny. */
export function SimulatedRules({ report, name }: { readonly report: Simulation; readonly name: string }) {
  const own = report.policies.find((policy) => policy.name === name)
  const others = report.policies.filter((policy) => policy !== own)
  const denying = others.flatMap((policy) =>
    policy.rules.filter(({ denied }) => denied > 0).map((rule) => ({ policy: policy.name, rule })),
  )
  return (
    <div>
      <h3>By rule</h3>
      {own === undefined && <p class="small soft">None of these checks is decided by this policy.</p>}
      <ul class="simulated-rules">
        {own?.rules.map((rule) => (
          <li key={rule.name}>
            <RuleLine rule={rule} />
            <SmallestLimits rule={rule} />
          </li>
        ))}
        {denying.map(({ policy, rule }) => (
          <li key={`${policy} ${rule.name}`}>
            <RuleLine rule={rule} policy={policy} />
          </li>
        ))}
      </ul>
    </div>
  )
}

function RuleLine({ rule, policy }: { readonly rule: SimulatedRule; readonly policy?: string }) {
  const denied = rule.denied + rule.shadow_denied
  return (
    <p class="rule-line">
      <span>
        {policy !== undefined && (
          <strong class="clip" title={policy}>
            {policy}{' '}
          </strong>
        )}
        {rule.words}
      </span>
      <span class="small soft">
        {denied === 0 ? 'denies nothing' : `denies ${howMany(denied, 'check')} of ${howMany(rule.clients, 'client')}`}
      </span>
    </p>
  )
}

/** Limits that the rule has reached already are marked. */
function SmallestLimits({ rule: { limit, smallest_limits: smallest } }: { readonly rule: SimulatedRule }) {
  if (smallest === null) return null
  const limits = [
    ['99 % of them', smallest.p99],
    ['99.9 %', smallest.p999],
    ['all', smallest.all],
  ] as const
  return (
    <div class="smallest small">
      <p class="soft">Smallest limit that leaves clients untouched; {fullCount(limit)} is proposed:</p>
      <dl>
        {limits.map(([share, least]) => (
          <div key={share} class={least <= limit ? 'fits' : ''}>
            <dt>{share}</dt>
            <dd>
              {fullCount(least)}
              {least <= limit && (
                <>
                  <span aria-hidden="true"> ✓</span>
                  <span class="unseen"> is reached</span>
                </>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
