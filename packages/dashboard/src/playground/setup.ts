// The playground's set-up, and its text form in the fragment of an address. A link shows another person the same picture.
// Invariant: reading a written set-up gives the same set-up. An unreadable link is reported and not applied in part.

import type { Draft, OptionForm } from '../forms/option-form.ts'
import { ALGORITHMS, isAlgorithm } from '../rules/algorithm-forms.ts'
import { newRule, type RuleDraft } from '../rules/rule-form.ts'
import { isShape, newTraffic, SHAPES, type TrafficDraft } from './traffic.ts'

export interface Setup {
  /** Length of the picture. */
  readonly length: string
  /** The playground shows the largest number of hits that passed in any span of this length. */
  readonly span: string
  readonly traffic: TrafficDraft
  readonly rules: readonly RuleDraft[]
}

export const MOST_RULES = 4

/** The first set-up: the boundary burst of a fixed window, and other rules under the same traffic. */
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

/** Writes a set-up, such as `length=60s&span=10s&traffic=steady:hits=15,every=10s&rule=gcra:limit=10,period=10s,burst=1`. */
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

/** Reads the text of `setupAddress`. An empty text gives the first set-up. Throws an Error that names the unreadable part. */
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

/** Writes the options that differ from their start values. */
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

/** Escapes commas, because a comma ends an option. */
const commaSafe = (text: string) => text.replace(/[%,]/g, encodeURIComponent)
