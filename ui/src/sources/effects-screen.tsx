import type { EffectsView } from 'daybook/client'
import { client } from '../data/session.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { formatTime } from '../model/inspect/figures.ts'
import { Notice } from '../primitives/notice.tsx'

type Effect = EffectsView['effects'][number]

const looks: { readonly [S in Effect['status']]: string } = {
  done: 'text-good',
  running: 'text-soft',
  failed: 'text-bad',
  unknown: 'text-warn',
  waiting: 'text-accent',
}

/** The calls that may have changed something outside of the conversation, and what became of them. */
export function EffectsScreen({ id, version }: { readonly id: string; readonly version: number }) {
  const { value, error } = useLoaded(`${id} ${version}`, () => client.effects(id))
  if (error !== undefined) return <Notice alert title={error} />
  if (!value) return <div className="flex-1" aria-busy="true" />
  if (value.effects.length === 0) return <Notice title="No call has changed anything outside of this conversation." />
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Effects">
      <ul className="mx-auto max-w-3xl divide-y divide-line px-4 py-4 text-sm">
        {value.effects.map((effect) => (
          <li key={effect.call_id} className="flex flex-wrap items-baseline gap-x-4 gap-y-1 py-2" data-effect={effect.call_id}>
            <span className={`w-20 shrink-0 font-medium ${looks[effect.status]}`}>{effect.status}</span>
            <span className="font-mono text-xs">{effect.tool_id}</span>
            <span className="text-xs text-soft">{effect.call_id}</span>
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
