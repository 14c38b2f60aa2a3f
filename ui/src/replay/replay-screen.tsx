import type { ReplayView } from 'daybook/client'
import { useMemo, useState } from 'react'
import type { JournalState } from '../data/journal.ts'
import { client } from '../data/session.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { type ReplayRow, replayRounds } from '../model/inspect/replay-rows.ts'
import { Button } from '../primitives/button.tsx'
import { Notice } from '../primitives/notice.tsx'
import { DivergenceCard } from './divergence-card.tsx'

type Turn = ReplayView['turns'][number]

/** Runs the recorded turns with the current code, and shows both sides. Nothing is written and no model is asked. */
export function ReplayScreen({ id, journal: { entries, loaded } }: { readonly id: string; readonly journal: JournalState }) {
  const [run, setRun] = useState(0)
  const { value, error, loading } = useLoaded(loaded ? `${id} ${run}` : undefined, () => client.replay(id))
  if (error !== undefined) return <Notice alert title={error} />
  if (!value) return <Notice title="The turns are replayed …" />
  if (value.turns.length === 0) return <Notice title="There is no turn yet." />
  const different = value.turns.filter(({ result }) => result === 'different').length
  const replayed = value.turns.filter(({ result }) => result !== 'torn').length
  return (
    <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label="Replay">
      <div className="mx-auto max-w-4xl space-y-5 px-4 py-6">
        <header className="flex flex-wrap items-center gap-3">
          <p className="min-w-60 flex-1" role="status">
            <span className="font-medium">
              {different === 0 ? 'The current code does the same.' : `${different} of ${replayed} turns would not be the same.`}
            </span>{' '}
            <span className="text-sm text-soft">Recorded answers and results are used. No model is asked and nothing is stored.</span>
          </p>
          <Button disabled={loading} onClick={() => setRun(run + 1)}>
            Replay again
          </Button>
        </header>
        {value.turns.map((turn, index) => (
          <ReplayedTurn key={turn.turn_id} turn={turn} number={index + 1} entries={entries} />
        ))}
      </div>
    </div>
  )
}

const resultWords = {
  same: 'the same',
  different: 'not the same',
  torn: 'can not be replayed: it was imported, or a part of it was removed',
} as const

function ReplayedTurn({
  turn,
  number,
  entries,
}: {
  readonly turn: Turn
  readonly number: number
  readonly entries: JournalState['entries']
}) {
  const rounds = useMemo(() => replayRounds(entries, turn.turn_id, turn.divergence), [entries, turn])
  return (
    <details
      open={turn.result === 'different'}
      className="rounded-md border border-line"
      data-turn={turn.turn_id}
      data-result={turn.result}
    >
      <summary className="flex cursor-pointer items-baseline gap-3 px-3 py-2 text-sm">
        <span className="font-medium">Turn {number}</span>
        <span className="text-soft">{turn.rounds} rounds</span>
        <span className={`ml-auto ${turn.result === 'different' ? 'text-bad' : 'text-soft'}`}>{resultWords[turn.result]}</span>
      </summary>
      <div className="border-t border-line">
        <div className="grid grid-cols-2 border-b border-line bg-raised text-xs text-soft">
          <span className="px-3 py-1">On record</span>
          <span className="border-l border-line px-3 py-1">Now</span>
        </div>
        {rounds.map((round, index) => {
          const isEqual = round.rows.every(({ result }) => result === 'same')
          const name = round.iteration === undefined ? 'Before the first round' : `Round ${round.iteration + 1}`
          return isEqual ? (
            <details key={name} className="border-b border-line text-sm last:border-b-0">
              <summary className="cursor-pointer px-3 py-1.5 text-soft">
                {name}: {round.rows.length} equal {round.rows.length === 1 ? 'entry' : 'entries'}
              </summary>
              {round.rows.map((row) => (
                <Row key={row.seq} row={row} />
              ))}
            </details>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: a resumed turn may have a round twice
            <section key={`${name} ${index}`} aria-label={name} className="border-b border-line text-sm last:border-b-0">
              <h3 className="px-3 py-1.5 text-soft">{name}</h3>
              {round.rows.map((row) =>
                row.result === 'different' && turn.divergence ? (
                  <DivergenceCard key={row.seq} row={row} divergence={turn.divergence} entries={entries} />
                ) : (
                  <Row key={row.seq} row={row} />
                ),
              )}
            </section>
          )
        })}
      </div>
    </details>
  )
}

function Row({ row }: { readonly row: ReplayRow }) {
  const text = (
    <>
      <span className="mr-2 text-xs tabular-nums text-soft">{row.seq}</span>
      <span className="font-mono text-xs">{row.title}</span> <span className="text-soft">{row.detail}</span>
    </>
  )
  return (
    <div className="grid grid-cols-2" data-seq={row.seq} data-result={row.result}>
      <p className="truncate px-3 py-1">{text}</p>
      <p className="truncate border-l border-line px-3 py-1 text-soft">{row.result === 'same' ? text : 'not reached'}</p>
    </div>
  )
}
