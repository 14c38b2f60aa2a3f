import type { ReactNode } from 'react'

/** A table. A wide one scrolls by itself and not with the page. */
export function TableBlock({ children }: { readonly children: ReactNode }) {
  return (
    <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Table">
      <table>{children}</table>
    </div>
  )
}
