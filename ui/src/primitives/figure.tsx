import type { ReactNode } from 'react'

interface FigureProps {
  readonly label: string
  readonly children: ReactNode
  /** A name for tests and for people who look at the source. */
  readonly name?: string
  /** The colour of the square before the label. */
  readonly color?: string
}

/** A number with a label. */
export function Figure({ label, children, name, color }: FigureProps) {
  return (
    <div className="min-w-0">
      <dt className="flex items-center gap-1.5 text-xs text-soft">
        {color !== undefined && <span className="size-2 shrink-0 rounded-[2px]" style={{ background: color }} />}
        {label}
      </dt>
      <dd className="truncate text-[15px] font-medium tabular-nums" data-figure={name}>
        {children}
      </dd>
    </div>
  )
}
