import type { TurnView } from 'daybook/client'
import { RotateCcw } from 'lucide-react'
import { useContext } from 'react'
import { turnEnd } from '../model/turn-end.ts'
import { Button } from '../primitives/button.tsx'
import { ChatActionsContext } from './chat-actions.ts'

/** Says why a turn has no complete answer, and what to do. */
export function TurnEnding({ turn }: { readonly turn: TurnView }) {
  const { send } = useContext(ChatActionsContext)
  const end = turnEnd(turn)
  if (!end) return null
  const { prompt } = turn
  return (
    <div
      className={`flex flex-wrap items-center gap-3 text-sm ${turn.failed ? 'rounded-lg bg-bad-tint px-3 py-2 text-bad' : 'text-soft'}`}
      role={turn.failed ? 'alert' : undefined}
    >
      <p className="flex-1">{end.text}</p>
      {end.canRetry && prompt !== undefined && (
        <Button onClick={() => void send(prompt)}>
          <RotateCcw size={14} aria-hidden /> Try again
        </Button>
      )}
    </div>
  )
}
