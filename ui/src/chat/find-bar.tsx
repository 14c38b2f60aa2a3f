import type { ConversationView } from 'daybook/client'
import { ChevronDown, ChevronUp, X } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { type FoundPlace, findInConversation } from '../model/search.ts'
import { IconButton } from '../primitives/button.tsx'

interface FindBarProps {
  readonly view: ConversationView
  /** Scrolls to a match. */
  onShow(place: FoundPlace, query: string): void
  onClose(): void
}

/** Finds a text in the whole conversation, including turns that are not in the document. */
export function FindBar({ view, onShow, onClose }: FindBarProps) {
  const [query, setQuery] = useState('')
  const [at, setAt] = useState(0)
  const places = useMemo(() => findInConversation(view, query), [view, query])
  const shown = places.length === 0 ? 0 : Math.min(at, places.length - 1)
  const place = places[shown]
  // biome-ignore lint/correctness/useExhaustiveDependencies: text that arrives must not scroll to the place again
  useEffect(() => {
    if (place) onShow(place, query)
  }, [place?.turnIndex, place?.inTurn, query])
  const step = (by: number) => setAt((shown + by + places.length) % Math.max(places.length, 1))
  return (
    <div
      role="search"
      className="absolute top-2 right-4 z-10 flex max-w-[calc(100%-2rem)] items-center gap-1 rounded-lg border border-line bg-page py-1 pr-1 pl-3 shadow-md"
    >
      <input
        ref={(element) => element?.focus()}
        value={query}
        aria-label="Find in conversation"
        placeholder="Find"
        className="w-40 min-w-0 shrink bg-transparent text-base outline-none md:text-sm"
        onChange={(event) => {
          setQuery(event.target.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') step(event.shiftKey ? -1 : 1)
          else if (event.key === 'Escape') onClose()
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <span role="status" className="min-w-14 text-right text-xs text-faint tabular-nums">
        {query.trim() === '' ? '' : places.length === 0 ? 'none' : `${shown + 1} of ${places.length}`}
      </span>
      <IconButton label="Previous" className="size-7" disabled={places.length === 0} onClick={() => step(-1)}>
        <ChevronUp size={15} />
      </IconButton>
      <IconButton label="Next" className="size-7" disabled={places.length === 0} onClick={() => step(1)}>
        <ChevronDown size={15} />
      </IconButton>
      <IconButton label="Close" className="size-7" onClick={onClose}>
        <X size={15} />
      </IconButton>
    </div>
  )
}
