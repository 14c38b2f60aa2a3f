import { PanelRight } from 'lucide-react'
import { useContext } from 'react'
import { ChatActionsContext } from '../chat-actions.ts'

interface CanvasCardProps {
  readonly turnId: string
  readonly itemKey: string
  readonly name: string
  readonly text: string
  readonly live: boolean
}

/** A document that the agent writes. It opens in the panel beside the conversation. */
export function CanvasCard({ turnId, itemKey, name, text, live }: CanvasCardProps) {
  const { openPanel } = useContext(ChatActionsContext)
  return (
    <button
      type="button"
      onClick={() => openPanel({ kind: 'canvas', turnId, key: itemKey })}
      className="flex w-full items-center gap-3 rounded-lg border border-line px-3 py-2 text-left text-sm hover:bg-hover"
    >
      <PanelRight size={16} className="shrink-0 text-accent" aria-hidden />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{name.split('/').at(-1)}</span>
        <span className="block truncate text-xs text-faint">{text.slice(-120).replaceAll('\n', ' ')}</span>
      </span>
      <span className="text-xs text-soft">{live ? 'Writing …' : 'Open'}</span>
    </button>
  )
}
