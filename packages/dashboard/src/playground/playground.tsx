// The playground: up to four rules under the same traffic, on one time axis, with the library's own answers.

import { effect } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { CopyButton } from '../controls/copy-button.tsx'
import { Icon } from '../controls/icon.tsx'
import { ALGORITHMS } from '../rules/algorithm-forms.ts'
import { newRule } from '../rules/rule-form.ts'
import './playground.css'
import { readingAt, spokenHit } from '../lanes/reading.ts'
import { RuleCard } from './rule-card.tsx'
import { MOST_RULES, START_SETUP, setupAddress } from './setup.ts'
import { addressProblem, changeSetup, cursorMs, lanes, readTimes, setup, takeAddress } from './signals.ts'
import { TimeBar } from './time-bar.tsx'
import { TrafficCard } from './traffic-card.tsx'

/** `origin` is the address of the service, used in the commands to copy. */
export function Playground({ origin }: { readonly origin: string }) {
  useAddress()
  const { rules } = setup.value
  const times = readTimes.value
  const isReady = times.problem === undefined
  const lengthMs = isReady ? times.lengthMs : 0
  const spanMs = isReady ? times.spanMs : 0
  return (
    <div class="playground">
      <header class="page-head">
        <div>
          <h1>Playground</h1>
          <p>The same traffic for up to four rules, on one time axis. Every answer is the library’s own.</p>
        </div>
        <div class="row">
          <button type="button" class="button" onClick={() => changeSetup(START_SETUP)}>
            <Icon name="back" /> Start over
          </button>
          <CopyButton label="Copy link" icon="link" text={() => location.href} />
        </div>
      </header>
      {addressProblem.value !== undefined && (
        <p class="note warn" role="alert">
          <Icon name="warning" /> The link cannot be read: {addressProblem.value}. This is what the playground starts with.
        </p>
      )}
      <TrafficCard setup={setup.value} times={times} onChange={changeSetup} />
      <TimeBar lengthMs={lengthMs} readingAt={spokenReadings} />
      <div
        class="lanes"
        onPointerMove={pointAt(lengthMs)}
        onPointerLeave={() => {
          cursorMs.value = undefined
        }}
      >
        {rules.map((draft, i) => (
          <RuleCard
            key={i}
            draft={draft}
            lane={lanes.value[i]}
            number={i + 1}
            lengthMs={lengthMs}
            spanMs={spanMs}
            origin={origin}
            onChange={(changed) => changeSetup({ ...setup.value, rules: rules.with(i, changed) })}
            onRemove={rules.length === 1 ? undefined : () => changeSetup({ ...setup.value, rules: rules.toSpliced(i, 1) })}
          />
        ))}
      </div>
      {rules.length < MOST_RULES && (
        <button
          type="button"
          class="button add-rule"
          onClick={() => changeSetup({ ...setup.value, rules: [...rules, newRule('gcra')] })}
        >
          <Icon name="plus" /> Add a rule
        </button>
      )}
    </div>
  )
}

/** The used units and the last answer of every rule at a time, in words. */
function spokenReadings(atMs: number): string {
  const spoken = lanes.value.flatMap(({ run, spec }) => {
    if (run === undefined) return []
    const { used, hit } = readingAt(run, atMs)
    return `${ALGORITHMS[spec.algorithm].title} ${used} used, ${spokenHit(hit)}`
  })
  return spoken.join('; ')
}

/** Copies the set-up into the address, and changes of the address into the set-up. */
function useAddress(): void {
  useMemo(() => takeAddress(location.hash), [])
  useEffect(() => {
    const stop = effect(() => {
      const isStart = setup.value === START_SETUP
      history.replaceState(history.state, '', isStart ? location.pathname : `#${setupAddress(setup.value)}`)
    })
    const changed = () => takeAddress(location.hash)
    addEventListener('hashchange', changed)
    return () => {
      stop()
      cursorMs.value = undefined
      removeEventListener('hashchange', changed)
    }
  }, [])
}

/** Returns a handler that moves the cursor to the pointer while it is over a picture. */
function pointAt(lengthMs: number): (event: PointerEvent) => void {
  return ({ target, clientX }) => {
    const picture = (target as Element).closest('.rule-picture')
    if (picture === null) return
    const { left, width } = picture.getBoundingClientRect()
    cursorMs.value = Math.round(Math.min(1, Math.max(0, (clientX - left) / width)) * lengthMs)
  }
}
