import { Layers } from 'lucide-react'
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { duration } from '../../model/time.ts'
import { isLongWork, type Work, workSummary } from '../../model/turn-work.ts'
import { DisclosureLine } from './disclosure.tsx'

interface WorkListProps {
  readonly work: Work
  /** When the turn began. */
  readonly since: string
  /** Whether the turn is still working. False when its answer has begun. */
  readonly active: boolean
  readonly children: ReactNode
}

/**
 * The steps of the agent as one list. A long list has a line that folds it. The list is open while the agent works. When the answer begins,
 * it folds once, unless a person has opened something in it or reads above the end. After that, only the person opens or closes it.
 */
export function WorkList({ work, since, active, children }: WorkListProps) {
  const [chosen, setChosen] = useState<boolean>()
  const root = useRef<HTMLDivElement>(null)
  const wasActive = useRef(active)
  useLayoutEffect(() => {
    const readsAbove = root.current?.closest('[data-following=false]') != null
    if (wasActive.current && !active && readsAbove) setChosen((known) => known ?? true) // the reader is above the end, and folding the list would move the text on the screen
    wasActive.current = active
  }, [active])
  const isLong = isLongWork(work)
  const open = !isLong || (chosen ?? active)
  // a list that a person has folded stays mounted, so that its open steps are still open when the list is opened again
  const isMounted = open || chosen !== undefined
  return (
    <div ref={root} className="flex flex-col gap-3">
      {isLong && <WorkLine work={work} since={since} open={open} onToggle={setChosen} />}
      {isMounted && (
        // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: it only notices clicks on buttons inside
        <div
          className={`flex-col gap-3 ${open ? 'flex' : 'hidden'} ${isLong ? 'pl-6' : ''}`}
          onClick={(event) => {
            if (event.target instanceof Element && event.target.closest('[aria-expanded]')) setChosen(true)
          }}
        >
          {children}
        </div>
      )}
    </div>
  )
}

/** The line above a long list: how many steps there are, how long they took, and what they did. */
function WorkLine({
  work,
  since,
  open,
  onToggle,
}: Pick<WorkListProps, 'work' | 'since'> & { readonly open: boolean; onToggle(open: boolean): void }) {
  const { steps, failed, detail, ms } = workSummary(work, since)
  return (
    <div className="-my-1.5 text-sm">
      <DisclosureLine
        open={open}
        icon={<Layers size={14} aria-hidden />}
        title={`${steps} ${steps === 1 ? 'step' : 'steps'}`}
        detail={open ? '' : detail}
        end={
          <>
            {failed > 0 && <span className="shrink-0 text-xs text-bad">{failed} failed</span>}
            {ms !== undefined && <span className="shrink-0 text-xs text-faint tabular-nums">{duration(ms)}</span>}
          </>
        }
        onToggle={onToggle}
      />
    </div>
  )
}
