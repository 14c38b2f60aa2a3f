import { useMemo } from 'react'
import { Link } from 'wouter'
import type { JournalState } from '../data/journal.ts'
import { sourceUses } from '../model/inspect/source-uses.ts'
import { createHistory } from '../model/inspect/time-travel.ts'
import { timelineRows } from '../model/inspect/timeline-rows.ts'
import { Notice } from '../primitives/notice.tsx'
import { timelinePath } from '../routes.ts'

/** The sources of a conversation with their numbers, and the places where each source is cited. */
export function SourcesScreen({ id, journal: { entries, loaded } }: { readonly id: string; readonly journal: JournalState }) {
  const rows = useMemo(() => createHistory().at(entries, entries.length).timeline.sources.rows, [entries])
  const uses = useMemo(() => sourceUses(timelineRows(entries).map(({ block }) => block)), [entries])
  if (!loaded) return <div className="flex-1" aria-busy="true" />
  if (rows.length === 0) return <Notice title="This conversation has no sources yet." />
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Sources">
      <ol className="mx-auto max-w-3xl divide-y divide-line px-4 py-4">
        {rows.map((row) => {
          const cited = uses.get(row.sid) ?? []
          return (
            <li key={row.sid} className="flex gap-4 py-3" data-sid={row.sid}>
              <span className="w-10 shrink-0 pt-0.5 text-right text-sm tabular-nums text-soft">S:{row.sid}</span>
              <div className="min-w-0">
                <p className="font-medium">{row.title ?? row.url ?? 'Untitled'}</p>
                {row.url !== undefined && <p className="truncate font-mono text-xs text-soft">{row.url}</p>}
                <p className="mt-1 text-sm text-soft">
                  {cited.length === 0 ? 'Not cited.' : 'Cited in '}
                  {cited.map(({ blockId, type }, index) => (
                    <span key={blockId}>
                      {index > 0 && ', '}
                      <Link href={timelinePath(id, blockId)} className="text-accent underline underline-offset-2">
                        {type === 'assistant.completion' ? 'an answer' : type === 'react.notes' ? 'a note' : 'a written file'} ({blockId})
                      </Link>
                    </span>
                  ))}
                </p>
              </div>
            </li>
          )
        })}
      </ol>
    </div>
  )
}
