import type { ToolStep, Wait } from 'daybook/client'
import { ShieldQuestion } from 'lucide-react'
import { useContext, useId, useState } from 'react'
import { toolTitle } from '../model/tool-titles.ts'
import { Button } from '../primitives/button.tsx'
import { ChatActionsContext } from './chat-actions.ts'
import { type FieldTexts, ParameterFields, readFields } from './tool/parameter-fields.tsx'

interface ApprovalProps {
  readonly wait: Wait
  readonly callId: string
  readonly step: Pick<ToolStep, 'toolId' | 'params'>
}

/** A call that waits for a person: its parameters can be read and changed, and it can be approved or refused with a word. */
export function Approval({ wait, callId, step }: ApprovalProps) {
  const { decide } = useContext(ChatActionsContext)
  const [texts, setTexts] = useState<FieldTexts>({})
  const [note, setNote] = useState('')
  const [state, setState] = useState<'open' | 'sending' | 'sent'>('open')
  const [problem, setProblem] = useState<string>()
  const noteId = useId()
  const { title, detail } = toolTitle(step.toolId, step.params, true)

  async function send(approved: boolean) {
    const params = readFields(step.params, texts)
    if (typeof params === 'string') return setProblem(params)
    setState('sending')
    setProblem(undefined)
    try {
      const changed = approved && Object.keys(texts).length > 0
      await decide(callId, { approved, ...(note.trim() !== '' && { note: note.trim() }), ...(changed && { params }) })
      setState('sent')
    } catch (error) {
      setState('open')
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const busy = state !== 'open'
  return (
    <section className="fade-in rounded-xl border border-accent bg-raised p-4" aria-label={`Approval: ${title}`}>
      <h3 className="flex items-center gap-2 font-medium">
        <ShieldQuestion size={17} className="text-accent" aria-hidden />
        <span>
          {title} <span className="font-normal text-soft">{detail}</span>
        </span>
      </h3>
      <p className="mt-0.5 text-sm text-soft">{questionOf(wait, step.toolId)}</p>
      <ParameterFields params={step.params} texts={texts} disabled={busy} onChange={setTexts} />
      <label htmlFor={noteId} className="mt-3 block text-sm text-soft">
        A word for the agent (optional)
      </label>
      <input
        id={noteId}
        value={note}
        disabled={busy}
        onChange={(event) => setNote(event.target.value)}
        className="w-full rounded-md border border-line bg-page px-2.5 py-1.5 text-base md:text-sm"
      />
      {problem !== undefined && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {problem}
        </p>
      )}
      <div className="mt-3 flex items-center gap-2">
        <Button look="primary" disabled={busy} onClick={() => void send(true)}>
          Approve
        </Button>
        <Button disabled={busy} onClick={() => void send(false)}>
          Refuse
        </Button>
        {wait.approver === 'operator' && <span className="text-xs text-faint">Only an operator may decide.</span>}
        {state === 'sent' && <span className="text-sm text-soft">Sent. The turn goes on.</span>}
      </div>
    </section>
  )
}

/** The question of the tool. The question that the server asks by itself only repeats the id of the tool. */
const questionOf = ({ question }: Wait, toolId: string) =>
  question === undefined || question.includes(toolId) ? 'The agent asks for your approval before it does this.' : question
