// What the playground is set to, and the same as the part of an address after #, so that a link shows another person the same picture.
// What must stay true: reading what was written gives the same set-up; a link that cannot be read is said, not half obeyed.

import type { Draft, OptionForm } from '../forms/option-form.ts'
import { ALGORITHMS, isAlgorithm } from '../rules/algorithm-forms.ts'
import { newRule, type RuleDraft } from '../rules/rule-form.ts'
import { isShape, newTraffic, SHAPES, type TrafficDraft } from './traffic.ts'

export interface Setup {
  /** How long the picture is. */
  readonly length: string
  /** The most that passed is looked for in any span of this length. */
  readonly span: string
  readonly traffic: TrafficDraft
  readonly rules: readonly RuleDraft[]
}

export const MOST_RULES = 4

/** What shows the boundary burst of a fixed window, and what the others make of it. */
export const START_SETUP: Setup = {
  length: '60s',
  span: '10s',
  traffic: newTraffic('bursts'),
  rules: [
    newRule('fixed-window', { anchor: 'clock' }),
    newRule('sliding-log'),
    newRule('sliding-window'),
    newRule('token-bucket'),
  ],
}

/** Such as `length=60s&span=10s&traffic=steady:hits=15,every=10s&rule=gcra:limit=10,period=10s,burst=1`. */
export function setupAddress({ length, span, traffic, rules }: Setup): string {
  const parts = [
    ['length', length],
    ['span', span],
    ['traffic', written(traffic.shape, SHAPES[traffic.shape].options, traffic.options)],
    ...rules.map(({ algorithm, options }) => ['rule', written(algorithm, ALGORITHMS[algorithm].options, options)]),
  ]
  return parts
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(3A|2C|3D)/g, decodeURIComponent)}`)
    .join('&')
}

/** Reads what `setupAddress` wrote; an empty address is the set-up to start with. Throws an Error that says what cannot be read. */
export function readSetup(address: string): Setup {
  const parts = address.split('&').filter((part) => part !== '')
  if (parts.length === 0) return START_SETUP
  let { length, span, traffic } = START_SETUP
  const rules: RuleDraft[] = []
  for (const part of parts) {
    const at = part.indexOf('=')
    const value = decodeURIComponent(part.slice(at + 1))
    const name = part.slice(0, at)
    if (name === 'length') length = value
    else if (name === 'span') span = value
    else if (name === 'traffic') {
      const [shape, options] = taken(value)
      if (!isShape(shape)) throw new Error(`no traffic is called '${shape}'`)
      traffic = newTraffic(shape, known(SHAPES[shape].options, options))
    } else if (name === 'rule') {
      const [algorithm, options] = taken(value)
      if (!isAlgorithm(algorithm)) throw new Error(`no algorithm is called '${algorithm}'`)
      rules.push(newRule(algorithm, known(ALGORITHMS[algorithm].options, options)))
    } else throw new Error(`'${part}' is no part of a set-up`)
  }
  if (rules.length < 1 || rules.length > MOST_RULES) {
    throw new Error(`a set-up has 1 to ${MOST_RULES} rules, and this has ${rules.length}`)
  }
  return { length, span, traffic, rules }
}

/** What is at its start value is left out. */
function written(name: string, forms: readonly OptionForm[], options: Draft): string {
  const said = forms
    .filter((form) => options[form.name] !== form.start)
    .map((form) => `${form.name}=${commaSafe(options[form.name])}`)
  return said.length === 0 ? name : `${name}:${said.join(',')}`
}

function taken(value: string): [name: string, options: Draft] {
  const [name, rest = ''] = value.split(/:(.*)/s)
  const pairs = rest === '' ? [] : rest.split(',').map((pair) => pair.split(/=(.*)/s))
  return [name, Object.fromEntries(pairs.map(([option, text = '']) => [option, decodeURIComponent(text)]))]
}

function known(forms: readonly OptionForm[], options: Draft): Draft {
  for (const name of Object.keys(options)) {
    if (!forms.some((form) => form.name === name)) throw new Error(`no option is called '${name}'`)
  }
  return options
}

/** A comma would end the option. */
const commaSafe = (text: string) => text.replace(/[%,]/g, encodeURIComponent)
