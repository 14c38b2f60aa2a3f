import { useVirtualizer } from '@tanstack/react-virtual'
import type { ConversationView, TurnView } from 'daybook/client'
import { ArrowDown } from 'lucide-react'
import { useLayoutEffect, useRef, useState } from 'react'
import { readPlace, writePlace } from '../data/places.ts'
import { countParagraphs, noParagraphs } from '../model/live-text.ts'
import type { FoundPlace } from '../model/search.ts'
import { FindBar } from './find-bar.tsx'
import { clearMarks, markText } from './mark-text.ts'
import { Turn } from './turn.tsx'
import { useFollowing } from './use-following.ts'

interface ThreadProps {
  readonly id: string
  readonly view: ConversationView
  /** Whether the bar to find a text is open. */
  readonly finding: boolean
  onFindClose(): void
}

/** A reader who is at most this many pixels above the end still sees the newest text. */
const pillDistance = 80

/**
 * The turns of a conversation. Only the turns near the screen are in the document. If the reader is at the end, the thread scrolls with the
 * text that arrives. Otherwise the text on the screen does not move.
 */
export function Thread({ id, view, finding, onFindClose }: ThreadProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const { turns, live } = view
  const [opened] = useState(() => ({ turns: turns.length, place: placeToOpen(id, turns) }))
  const following = useFollowing(scroller, {
    atFirst: opened.place === undefined,
    onPause: (top) => virtual.scrollToOffset(top), // stops a scroll to the end that is still running
    onBehind: () => virtual.scrollToEnd(),
  })
  const virtual = useVirtualizer({
    count: turns.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => turns[index]?.id ?? index,
    estimateSize: (index) => estimateHeight(turns[index]),
    overscan: 3,
    anchorTo: following.active ? 'end' : 'start',
    followOnAppend: following.active,
    scrollEndThreshold: 2,
    paddingStart: 24,
    useAnimationFrameWithResizeObserver: false,
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: the place is restored only when the conversation is opened
  useLayoutEffect(() => {
    const { place } = opened
    if (!place) virtual.scrollToEnd()
    else virtual.scrollToOffset((virtual.getOffsetForIndex(place.index, 'start')?.[0] ?? 0) + place.offset)
  }, [])

  function rememberPlace() {
    const element = scroller.current
    const first = element && virtual.getVirtualItems().find(({ end }) => end > element.scrollTop)
    const turn = first && turns[first.index]
    if (!turn || following.isAtEnd()) writePlace(id, undefined)
    else writePlace(id, { turn: turn.id, offset: element.scrollTop - first.start })
  }

  function showPlace({ turnIndex, inTurn }: FoundPlace, query: string) {
    virtual.scrollToIndex(turnIndex, { align: 'start' })
    const turn = turns[turnIndex]
    // if the row was not in the document, it is drawn in the next frame. So the text is marked one frame later
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const row = scroller.current?.querySelector(`[data-turn="${CSS.escape(turn?.id ?? '')}"]`)
        if (row) markText(row, query, inTurn)
      }),
    )
  }
  function closeFind() {
    clearMarks()
    onFindClose()
  }

  const items = useItemCount(view)
  const seen = useRef(items)
  if (following.active) seen.current = items
  const news = Math.max(items - seen.current, 0)
  const last = turns.length - 1
  return (
    <div className="relative min-h-0 flex-1">
      {finding && <FindBar view={view} onShow={showPlace} onClose={closeFind} />}
      <div
        ref={scroller}
        className="h-full overflow-x-hidden overflow-y-auto overscroll-contain [container-type:size] [overflow-anchor:none]"
        onScroll={rememberPlace}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        tabIndex={0}
        data-following={following.active}
      >
        <div className="relative w-full" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const turn = turns[index]
            if (!turn) return null
            // A turn that began while the page was open fills the screen, so that its question is at the top and the answer grows below it.
            const fills = index === last && index >= opened.turns
            return (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                data-turn={turn.id}
                className={`absolute inset-x-0 top-0 ${fills ? 'min-h-[calc(100cqh-24px)]' : ''}`}
                style={{ transform: `translateY(${start}px)` }}
              >
                <Turn turn={turn} live={live?.turnId === turn.id ? live : undefined} isLast={index === last} isNew={fills} />
              </div>
            )
          })}
        </div>
      </div>
      {following.distance > pillDistance && (
        <button
          type="button"
          onClick={() => following.resume(() => virtual.scrollToEnd())}
          className="absolute bottom-3 left-1/2 flex -translate-x-1/2 items-center gap-1.5 rounded-full border border-line bg-page px-3 py-1 text-sm shadow-sm hover:bg-hover"
        >
          <ArrowDown size={14} aria-hidden /> To the end{news > 0 && <span className="text-accent">{news} new</span>}
        </button>
      )}
    </div>
  )
}

/**
 * Where the reader was when they left the conversation. Undefined if the thread opens at its end. A conversation with a running turn always
 * opens at its end.
 */
function placeToOpen(id: string, turns: readonly TurnView[]) {
  const place = turns.at(-1)?.endedAt === undefined ? undefined : readPlace(id)
  const index = place ? turns.findIndex((turn) => turn.id === place.turn) : -1
  return place && index >= 0 ? { index, offset: place.offset } : undefined
}

/** A number that grows when the thread gets a new turn, a new step, or a new paragraph of the newest answer. */
function useItemCount({ turns, live }: ConversationView): number {
  const turn = turns.at(-1)
  const answer = live?.lanes.find(({ marker }) => marker === 'answer')?.text ?? turn?.answers.at(-1)?.text ?? ''
  const paragraphs = useRef(noParagraphs)
  paragraphs.current = countParagraphs(answer, paragraphs.current)
  return turns.length + (turn?.steps.length ?? 0) + paragraphs.current.count
}

/** An estimate of the height of a turn. It is replaced by the real height when the turn is on the screen. */
function estimateHeight(turn: TurnView | undefined): number {
  const characters = (turn?.prompt?.length ?? 0) + (turn?.answers.reduce((sum, { text }) => sum + text.length, 0) ?? 0)
  return 120 + (turn?.steps.length ?? 0) * 36 + characters / 3
}
