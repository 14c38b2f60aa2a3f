import type { WaitingMessage } from 'daybook/client'
import { Clock, Pencil, X } from 'lucide-react'
import { useContext, useState } from 'react'
import { client } from '../data/session.ts'
import { Button, IconButton } from '../primitives/button.tsx'
import { ChatActionsContext } from './chat-actions.ts'

/** Messages that the server has stored and that the agent has not read yet. They can be changed and taken back. */
export function WaitingMessages({ messages }: { readonly messages: readonly WaitingMessage[] }) {
  if (messages.length === 0) return null
  return (
    <ul className="mx-auto flex w-full max-w-3xl flex-col items-end gap-1.5 px-4 pb-1" aria-label="Messages that wait">
      {messages.map((message) => (
        <li
          key={message.eventId}
          className="w-fit max-w-[85%] rounded-2xl rounded-br-md border border-dashed border-line px-3 py-1.5 text-sm"
        >
          <Message message={message} />
        </li>
      ))}
    </ul>
  )
}

function Message({ message: { eventId, text, kind } }: { readonly message: WaitingMessage }) {
  const { conversationId } = useContext(ChatActionsContext)
  const [changed, setChanged] = useState<string>()
  const [problem, setProblem] = useState<string>()
  async function attempt(action: () => Promise<unknown>) {
    setProblem(undefined)
    try {
      await action()
      setChanged(undefined)
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  const save = () => attempt(() => client.changeMessage(conversationId, eventId, changed ?? text))
  if (changed !== undefined)
    return (
      <form
        className="flex flex-col items-end gap-1.5"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <textarea
          ref={(element) => element?.focus()}
          value={changed}
          rows={1}
          aria-label="Change the message"
          className="field-sizing-content max-h-40 min-w-60 max-w-full resize-none bg-transparent text-base outline-none md:text-sm"
          onChange={(event) => setChanged(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') setChanged(undefined)
            else if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) void save()
            else return
            event.preventDefault()
          }}
        />
        <span className="flex gap-1">
          <Button look="quiet" onClick={() => setChanged(undefined)}>
            Cancel
          </Button>
          <Button type="submit" disabled={changed.trim() === ''}>
            Save
          </Button>
        </span>
        {problem !== undefined && <Problem text={problem} />}
      </form>
    )
  return (
    <>
      <p className="line-clamp-4 whitespace-pre-wrap wrap-anywhere">{text}</p>
      <p className="flex items-center gap-1 text-xs text-faint">
        <Clock size={11} aria-hidden />
        <span className="flex-1">{kind === 'steer' ? 'Redirecting …' : 'Not seen yet'}</span>
        {kind !== 'steer' && (
          <>
            <IconButton label="Change this message" className="ml-2 size-6" onClick={() => setChanged(text)}>
              <Pencil size={12} />
            </IconButton>
            <IconButton
              label="Take this message back"
              className="-mr-1.5 size-6"
              onClick={() => void attempt(() => client.withdraw(conversationId, eventId))}
            >
              <X size={13} />
            </IconButton>
          </>
        )}
      </p>
      {problem !== undefined && <Problem text={problem} />}
    </>
  )
}

const Problem = ({ text }: { readonly text: string }) => (
  <p role="alert" className="text-xs text-bad">
    {text}
  </p>
)
