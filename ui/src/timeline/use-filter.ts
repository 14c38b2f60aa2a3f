import { useState } from 'react'
import type { RowFilter } from '../model/inspect/timeline-rows.ts'

const everything: RowFilter = { text: '', group: undefined, state: undefined, path: undefined }

/** The filter of the timeline. */
export function useFilter() {
  const [filter, setFilter] = useState(everything)
  return { filter, change: (next: Partial<RowFilter>) => setFilter((before) => ({ ...before, ...next })) }
}
