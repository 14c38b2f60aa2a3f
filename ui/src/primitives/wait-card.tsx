import { Clock, ShieldQuestion } from 'lucide-react'
import { useId, useState } from 'react'
import { Button } from './button.tsx'
import { isCut } from './cut-parameters.ts'
import { type FieldTexts, ParameterFields, readFields } from './parameter-fields.tsx'

export interface Decision {
  readonly approved: boolean
  readonly note?: string
  readonly params?: Record<string, unknown>
}

interface WaitCardProps {
  readonly title: string
  readonly detail: string
  readonly question: string | undefined
  readonly params: Readonly<Record<string, unknown>>
  /** The names of the parameters that are shown at first. A click shows the other parameters. Undefined if all parameters are shown. */
  readonly main: readonly string[] | undefined
  readonly onlyOperator: boolean
  /** Undefined if the wait can not be answered on this page, for example if it waits for a late result. */
  readonly decide: ((decision: Decision) => Promise<void>) | undefined
}

/** A call that waits for a person: its parameters can be read and changed, and it can be approved or refused, with a note for the agent. */
export function WaitCard({ title, detail, question, params, main, onlyOperator, decide }: WaitCardProps) {
  const [texts, setTexts] = useState<FieldTexts>({})
  const [note, setNote] = useState('')
  const [state, setState] = useState<'open' | 'sending' | 'sent'>('open')
  const [problem, setProblem] = useState<string>()
  const noteId = useId()

  async function send(approved: boolean) {
    const changed = readFields(params, texts)
    if (typeof changed === 'string') return setProblem(changed)
    setState('sending')
    setProblem(undefined)
    try {
      const isChanged = approved && Object.keys(texts).length > 0
      await decide?.({ approved, ...(note.trim() !== '' && { note: note.trim() }), ...(isChanged && { params: changed }) })
      setState('sent')
    } catch (error) {
      setState('open')
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const hasCutParts = isCut(params)
  const busy = state !== 'open' || !decide
  const Icon = decide ? ShieldQuestion : Clock
  return (
    <section className="fade-in rounded-xl border border-accent bg-raised p-4" aria-label={`${decide ? 'Approval' : 'Waiting'}: ${title}`}>
      <h3 className="flex items-center gap-2 font-medium">
        <Icon size={17} className="shrink-0 text-accent" aria-hidden />
        <span className="wrap-anywhere">
          {title} <span className="font-normal text-soft">{detail}</span>
        </span>
      </h3>
      <p className="mt-0.5 text-sm text-soft">
        {question ?? (decide ? 'The agent asks for your approval before it does this.' : 'The result arrives later.')}
      </p>
      <ParameterFields params={params} main={main} texts={texts} disabled={busy || hasCutParts} onChange={setTexts} />
      {decide && hasCutParts && (
        <p className="mt-1 text-xs text-faint">A long text is shown in part, so the parameters can not be changed here.</p>
      )}
      {decide && (
        <>
          <label htmlFor={noteId} className="mt-3 block text-sm text-soft">
            A note for the agent (optional)
          </label>
          <input
            id={noteId}
            value={note}
            disabled={busy}
            onChange={(event) => setNote(event.target.value)}
            className="w-full rounded-md border border-line bg-page px-2.5 py-1.5 text-base md:text-sm"
          />
        </>
      )}
      {problem !== undefined && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {problem}
        </p>
      )}
      {decide && (
        <div className="mt-3 flex flex-wrap items-center gap-2">
          <Button look="primary" disabled={busy} onClick={() => void send(true)}>
            Approve
          </Button>
          <Button disabled={busy} onClick={() => void send(false)}>
            Refuse
          </Button>
          {onlyOperator && <span className="text-xs text-faint">Only an operator may decide.</span>}
          {state === 'sent' && <span className="text-sm text-soft">Sent. The turn continues.</span>}
        </div>
      )}
    </section>
  )
}
