import { Sheet } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { tableCsv } from '../model/table-csv.ts'
import { IconButton } from '../primitives/button.tsx'

/** A table. A wide table has its own scroll bar. It can be copied as CSV. */
export function TableBlock({ children }: { readonly children: ReactNode }) {
  const table = useRef<HTMLTableElement>(null)
  const [copied, setCopied] = useState(false)
  async function copy() {
    const rows = [...(table.current?.rows ?? [])].map((row) => [...row.cells].map((cell) => cell.innerText))
    await navigator.clipboard.writeText(tableCsv(rows))
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <div className="group relative w-fit max-w-full">
      <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="Table">
        <table ref={table}>{children}</table>
      </div>
      <IconButton
        label={copied ? 'Copied' : 'Copy table as CSV'}
        className="absolute top-0.5 right-0 size-6 translate-x-full opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 max-sm:right-6"
        onClick={copy}
      >
        <Sheet size={13} />
      </IconButton>
    </div>
  )
}
