import { ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'

interface DisclosureLineProps {
  readonly open: boolean
  readonly icon: ReactNode
  readonly title: string
  /** What the step is about. The text is cut if it is too long for the line. */
  readonly detail?: string | undefined
  /** Content at the end of the line, such as a time. */
  readonly end?: ReactNode
  onToggle(open: boolean): void
}

/** A step of the agent in one line. Its content opens below the line. */
export function Disclosure({ children, ...line }: DisclosureLineProps & { readonly children?: ReactNode }) {
  return (
    <div className="-my-1.5 text-sm">
      <DisclosureLine {...line} />
      {line.open && <div className="mt-0.5 mb-2 ml-1.75 border-l border-line pl-4.25">{children}</div>}
    </div>
  )
}

/** The line that opens and closes something below it. */
export function DisclosureLine({ open, icon, title, detail, end, onToggle }: DisclosureLineProps) {
  return (
    <button
      type="button"
      aria-expanded={open}
      onClick={() => onToggle(!open)}
      className="group -mx-2 flex w-[calc(100%+1rem)] items-center gap-2 rounded-md px-2 py-1 text-left text-soft hover:bg-hover"
    >
      <span className="flex size-4 shrink-0 items-center justify-center">{icon}</span>
      <span className="max-w-[70%] shrink-0 truncate font-medium text-ink">{title}</span>
      <span className="min-w-0 flex-1 truncate">{detail}</span>
      {end}
      <ChevronRight
        size={14}
        aria-hidden
        className={`shrink-0 opacity-50 transition-transform group-hover:opacity-100 ${open ? 'rotate-90' : ''}`}
      />
    </button>
  )
}
