import type { EffectsView } from 'daybook/client'
import { useMemo } from 'react'
import { Link } from 'wouter'
import type { JournalState } from '../data/journal.ts'
import { client } from '../data/session.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { formatTime } from '../model/inspect/figures.ts'
import { Notice } from '../primitives/notice.tsx'
import { timelinePath } from '../routes.ts'

type Effect = EffectsView['effects'][number]

const looks: { readonly [S in Effect['status']]: string } = {
  done: 'text-good',
  running: 'text-soft',
  failed: 'text-bad',
  unknown: 'text-warn',
  waiting: 'text-accent',
}

interface EffectsScreenProps {
  readonly id: string
  readonly version: number
  readonly entries: JournalState['entries']
}

/** The calls that may have changed something outside of the conversation, and their outcomes. */
export function EffectsScreen({ id, version, entries }: EffectsScreenProps) {
  const { value, error } = useLoaded(`${id} ${version}`, () => client.effects(id))
  const calls = useMemo(() => callBlocks(entries), [entries])
  if (error !== undefined) return <Notice alert title={error} />
  if (!value) return <div className="flex-1" aria-busy="true" />
  if (value.effects.length === 0) return <Notice title="No call has changed anything outside of this conversation." />
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Effects">
      <p className="mx-auto max-w-3xl px-4 pt-5 text-sm text-soft">
        The calls that may have changed something outside of this conversation, and their outcomes.
      </p>
      <ul className="mx-auto max-w-3xl divide-y divide-line px-4 py-3 text-sm">
        {value.effects.map((effect) => (
          <li key={effect.call_id} className="flex flex-wrap items-baseline gap-x-4 gap-y-1 py-2" data-effect={effect.call_id}>
            <span className={`w-20 shrink-0 font-medium ${looks[effect.status]}`}>{effect.status}</span>
            <span className="font-mono text-xs">{effect.tool_id}</span>
            <CallId id={id} call={effect.call_id} block={calls.get(effect.call_id)} />
            <span className="ml-auto text-xs tabular-nums text-soft">
              {formatTime(effect.called_at)}
              {effect.ended_at !== null && ` – ${formatTime(effect.ended_at)}`}
            </span>
            {effect.error && (
              <p className="w-full pl-24 text-soft">
                {effect.error.code}: {effect.error.message}
              </p>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The id of a call. It is a link to the block of the call on the timeline. */
function CallId({ id, call, block }: { readonly id: string; readonly call: string; readonly block: string | undefined }) {
  if (block === undefined) return <span className="text-xs text-soft">{call}</span>
  return (
    <Link href={timelinePath(id, block)} className="text-xs text-accent underline underline-offset-2">
      {call}
    </Link>
  )
}

/** The block of each call, by the id of the call. */
function callBlocks(entries: JournalState['entries']): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { change } of entries)
    if (change.type === 'blocks.appended')
      for (const block of change.blocks)
        if (block.type === 'react.tool.call' && block.call_id !== undefined) found.set(block.call_id, block.id)
  return found
}
