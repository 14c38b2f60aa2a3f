import { RequestRefused } from 'daybook/client'
import { KeyRound } from 'lucide-react'
import { useEffect, useState } from 'react'
import { client, isAccepted, signIn, takeSignInCode } from '../data/session.ts'
import { Button } from '../primitives/button.tsx'

/** Asks the person for a token, if the server needs one. */
export function SignIn() {
  const [token, setToken] = useState('')
  const [keep, setKeep] = useState(true)
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    const code = takeSignInCode()
    if (code === undefined) return
    setBusy(true)
    client
      .signIn(code)
      .then(({ token: given }) => signIn(given, true))
      .catch((error: unknown) => {
        setBusy(false)
        setProblem(
          error instanceof RequestRefused
            ? 'This link was used before or is too old. Start the server again for a new one, or paste a token.'
            : 'The server could not be reached. Open the link again.',
        )
      })
  }, [])
  async function submit() {
    const value = token.trim().replace(/^Bearer\s+/i, '')
    setProblem(undefined)
    try {
      if (await isAccepted(value)) signIn(value, keep)
      else setProblem('The server does not accept this token. It may be incomplete or have expired.')
    } catch {
      setProblem('The server could not be reached. Try again.')
    }
  }
  if (busy) return <main className="flex h-dvh items-center justify-center p-4 text-soft">Signing in …</main>
  return (
    <main className="flex h-dvh items-center justify-center p-4">
      <form
        className="w-full max-w-sm space-y-3"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <h1 className="flex items-center gap-2 text-xl font-semibold">
          <KeyRound size={20} className="text-accent" aria-hidden /> Sign in
        </h1>
        <p className="text-sm text-soft">
          This server asks for a token. You get one from the person who runs it. If that is you, open the link that the server printed when
          it started.
        </p>
        <label className="block text-sm">
          <span className="text-soft">Token</span>
          <input
            type="password"
            autoComplete="off"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            className="mt-1 w-full rounded-md border border-line bg-page px-2.5 py-1.5 font-mono text-base"
          />
        </label>
        <label className="flex items-center gap-2 text-sm text-soft">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} className="accent-(--accent)" />
          Stay signed in until this tab is closed
        </label>
        {problem !== undefined && (
          <p role="alert" className="text-sm text-bad">
            {problem}
          </p>
        )}
        <Button look="primary" type="submit" disabled={token.trim() === ''}>
          Sign in
        </Button>
      </form>
    </main>
  )
}
