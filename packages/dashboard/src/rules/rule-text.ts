// A rule as text to take away: for a program, for the configuration file, for the command line.

import type { OptionValue } from '../api/answers.ts'
import { ALGORITHMS } from './algorithm-forms.ts'
import type { RuleSpec } from './rule-form.ts'

/** The policy that the texts put the rule into. */
const NAME = 'orders'
const ROUTE = '/orders'

export function asTypeScript({ algorithm, options }: RuleSpec): string {
  const { call } = ALGORITHMS[algorithm]
  const written = Object.entries(options).map(([name, value]) => `${name}: ${literal(value)}`)
  const isHeld = ALGORITHMS[algorithm].make(options as never).isHeld === true
  const imports = ['createLimiter', call, ...(isHeld ? ['holds'] : [])].sort().join(', ')
  // Places of a concurrency rule are given back when the work is done.
  const use = isHeld ? "await limiter.run('user:42', {}, () => doTheWork())" : "const decision = limiter.hit('user:42')"
  return `import { ${imports} } from 'sluice'

const limiter = createLimiter({
  rules: ${call}({ ${written.join(', ')} }),${isHeld ? '\n  holds: holds(),' : ''}
})

${use}
`
}

export function asYaml({ algorithm, options }: RuleSpec): string {
  const lines = Object.entries({ algorithm, ...options }).map(([option, value]) => `      ${option}: ${value}`)
  return `policies:
  - name: ${NAME}
    route: ${ROUTE}
    rules:
${lines.join('\n')}
`
}

/** `origin` is where the service listens. */
export function asCurl({ algorithm, options }: RuleSpec, origin: string): string {
  const body = JSON.stringify({ route: ROUTE, rules: { algorithm, ...options } })
  return `curl -X PUT ${origin}/v1/policies/${NAME} \\
  -H "Api-Key: $SLUICE_API_KEY" -H 'Content-Type: application/json' \\
  -d '${body}'
`
}

function literal(value: OptionValue): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
