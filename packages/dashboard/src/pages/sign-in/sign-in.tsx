// The sign-in page, which asks for an API key.

import { useId, useState } from 'preact/hooks'
import type { ApiError } from '../../api/call.ts'
import { signIn } from '../../api/session.ts'
import { ThemeChoice } from '../../controls/theme-choice.tsx'
import { Brand } from '../../shell/brand.tsx'
import './sign-in.css'

export function SignIn() {
  const id = useId()
  const problemId = useId()
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setAsking(true)
    setProblem(undefined)
    try {
      await signIn(key.trim())
    } catch (error) {
      setProblem(spoken(error as ApiError))
      setAsking(false)
    }
  }
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <Brand />
        <h1>Sign in</h1>
        <p class="soft">With an API key that may read, or an admin key. The first start of the service printed one.</p>
        <div class="field">
          <label class="label" for={id}>
            API key
          </label>
          <input
            id={id}
            class="input mono"
            type="password"
            autocomplete="off"
            spellcheck={false}
            required
            value={key}
            aria-invalid={problem !== undefined}
            aria-describedby={problem === undefined ? undefined : problemId}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
          <p class="problem" id={problemId} role="alert">
            {problem}
          </p>
        </div>
        <button type="submit" class="button main" disabled={isAsking}>
          {isAsking ? 'Signing in …' : 'Sign in'}
        </button>
        <p class="small soft">
          No key at hand? The <a href="/playground">playground</a> needs none.
        </p>
      </form>
      <ThemeChoice />
    </main>
  )
}

function spoken({ status, code, message }: ApiError): string {
  if (code === 'ERR_AUTH_LIMITED') return 'Too many tries from this address. Wait a minute, then try again.'
  if (code === 'ERR_SIGN_IN_LIMITED') return 'Too many sign-ins with this key. Wait a minute, then try again.'
  if (status === 401) return 'This key is not known, or it was revoked or has expired.'
  if (status === 403) return 'This key may not look at anything: it needs the scope read or admin.'
  return message
}
