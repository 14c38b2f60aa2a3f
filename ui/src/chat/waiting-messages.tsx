import type { WaitingMessage } from 'daybook/client'
import { Clock } from 'lucide-react'

/** Messages that the server has stored and that the agent has not read yet. */
export function WaitingMessages({ messages }: { readonly messages: readonly WaitingMessage[] }) {
  if (messages.length === 0) return null
  return (
    <ul className="mx-auto flex w-full max-w-3xl flex-col items-end gap-1.5 px-4 pb-1" aria-label="Messages that wait">
      {messages.map(({ eventId, text, kind }) => (
        <li key={eventId} className="max-w-[85%] rounded-2xl rounded-br-md border border-dashed border-line px-3 py-1.5 text-sm">
          <p className="line-clamp-4 whitespace-pre-wrap wrap-anywhere">{text}</p>
          <p className="flex items-center gap-1 text-xs text-faint">
            <Clock size={11} aria-hidden /> {kind === 'steer' ? 'Redirecting …' : 'Not seen yet'}
          </p>
        </li>
      ))}
    </ul>
  )
}
