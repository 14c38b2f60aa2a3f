import { Brain } from 'lucide-react'
import { memo, useEffect, useRef, useState } from 'react'
import { PlainLines } from '../../markdown/plain-lines.tsx'
import { duration } from '../../model/time.ts'
import { Disclosure } from './disclosure.tsx'

interface ThinkingProps {
  readonly text: string
  readonly live: boolean
  /** Whether the folded line shows the beginning of the text, so that a reader can distinguish the thoughts in a list with many steps. */
  readonly preview: boolean
}

/**
 * The thinking of the model. It is open while it is being written, and folds once when the answer begins. After a person has opened or
 * closed it, only the person changes it.
 */
export const Thinking = memo(function Thinking({ text, live, preview }: ThinkingProps) {
  const [chosen, setChosen] = useState<boolean>()
  const elapsed = useElapsed(live)
  const open = chosen ?? live
  const title = live ? 'Thinking' : elapsed === undefined ? 'Thought' : `Thought ${duration(elapsed)}`
  return (
    <Disclosure
      open={open}
      icon={<Brain size={14} aria-hidden />}
      title={title}
      detail={preview && !open ? text.slice(0, 200) : ''}
      onToggle={setChosen}
    >
      <p className="whitespace-pre-wrap text-soft wrap-anywhere">
        <PlainLines text={text} live={live} />
      </p>
    </Disclosure>
  )
})

/** How many milliseconds `live` was true. Undefined while it is still true, and if it was never true on this page. */
function useElapsed(live: boolean): number | undefined {
  const startedAt = useRef<number>(undefined)
  const [elapsed, setElapsed] = useState<number>()
  useEffect(() => {
    if (live) startedAt.current ??= performance.now()
    else if (startedAt.current !== undefined) setElapsed((known) => known ?? performance.now() - (startedAt.current ?? 0))
  }, [live])
  return elapsed
}
