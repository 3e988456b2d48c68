// The source of a rule to copy: as TypeScript, as a policy in YAML, as a curl command.

import { useState } from 'preact/hooks'
import { CopyButton } from '../controls/copy-button.tsx'
import { Dialog } from '../controls/dialog.tsx'
import { Segments } from '../controls/segments.tsx'
import { ALGORITHMS } from '../rules/algorithm-forms.ts'
import type { RuleSpec } from '../rules/rule-form.ts'
import { asCurl, asTypeScript, asYaml } from '../rules/rule-text.ts'

type Form = 'typescript' | 'yaml' | 'curl'

const FORMS: readonly (readonly [Form, string])[] = [
  ['typescript', 'TypeScript'],
  ['yaml', 'YAML'],
  ['curl', 'curl'],
]

const SAYS: Readonly<Record<Form, string>> = {
  typescript: 'For a program that limits by itself, with the library.',
  yaml: 'A policy for the configuration file of the service.',
  curl: 'Puts the policy into a service that is running. SLUICE_API_KEY holds an admin key.',
}

export interface UseRuleDialogProps {
  readonly spec: RuleSpec
  /** Address of the service. */
  readonly origin: string
  readonly onClose: () => void
}

export function UseRuleDialog({ spec, origin, onClose }: UseRuleDialogProps) {
  const [form, setForm] = useState<Form>('typescript')
  const text = form === 'typescript' ? asTypeScript(spec) : form === 'yaml' ? asYaml(spec) : asCurl(spec, origin)
  return (
    <Dialog title={`Use this ${ALGORITHMS[spec.algorithm].title.toLowerCase()}`} onClose={onClose}>
      <div class="row">
        <Segments label="Form" choices={FORMS} value={form} onChoose={setForm} />
      </div>
      <p class="soft">{SAYS[form]}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
      <section class="code" tabIndex={0} aria-label="The rule as text">
        <pre>{text}</pre>
      </section>
      <div class="dialog-foot">
        <CopyButton label="Copy" text={() => text} />
      </div>
    </Dialog>
  )
}
