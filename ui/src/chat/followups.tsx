import { CornerDownRight } from 'lucide-react'
import { useContext } from 'react'
import { ChatActionsContext } from './chat-actions.ts'

/** Questions that the agent suggests. A click on a question sends it. */
export function Followups({ items }: { readonly items: readonly string[] }) {
  const { send } = useContext(ChatActionsContext)
  if (items.length === 0) return null
  return (
    <ul className="fade-in flex flex-col items-start gap-1.5" aria-label="Suggested questions">
      {items.map((item) => (
        <li key={item}>
          <button
            type="button"
            onClick={() => void send(item)}
            className="flex items-start gap-2 rounded-lg border border-line px-3 py-1.5 text-left text-sm hover:border-accent hover:bg-tint"
          >
            <CornerDownRight size={14} className="mt-1 shrink-0 text-faint" aria-hidden />
            <span className="wrap-anywhere">{item}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
