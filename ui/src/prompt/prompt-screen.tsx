import { type CostView, RequestRefused } from 'daybook/client'
import { useEffect, useMemo, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { client } from '../data/session.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { type RoundBar, roundBars } from '../model/inspect/cost-series.ts'
import { promptDifference } from '../model/inspect/prompt-difference.ts'
import { promptSegments, type Segment } from '../model/inspect/prompt-segments.ts'
import { Notice } from '../primitives/notice.tsx'
import { promptPath, timelinePath } from '../routes.ts'
import { DifferenceList } from './difference-list.tsx'
import { MissCard } from './miss-card.tsx'
import { PromptHeader } from './prompt-header.tsx'
import { PromptText } from './prompt-text.tsx'
import { Ribbon } from './ribbon.tsx'

interface PromptScreenProps {
  readonly id: string
  readonly turn: string | undefined
  readonly round: number | undefined
  /** Changes when the conversation has grown, so that the list of rounds is loaded again. */
  readonly version: number
}

/** The exact prompt of a round: what the model read, and what it cost. Without `round`, the last round is shown. */
export function PromptScreen({ id, turn, round, version }: PromptScreenProps) {
  const [, go] = useLocation()
  const [params] = useSearchParams()
  const cost = useLoaded(`${id} ${version}`, () => client.cost(id))
  const bars = useMemo(() => (cost.value ? roundBars(cost.value) : []), [cost.value])
  const index = turn === undefined ? bars.length - 1 : bars.findIndex((bar) => bar.turnId === turn && bar.iteration === round)
  const bar = bars[index]
  const against = bars.find((each) => addressOf(each) === params.get('against'))
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (event.target instanceof Element && event.target.matches('input, textarea, select')) return
      const next = event.key === '[' ? bars[index - 1] : event.key === ']' ? bars[index + 1] : undefined
      if (next) go(promptPath(id, next.turnId, next.iteration), { replace: true })
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [bars, index, go, id])
  if (cost.error !== undefined) return <Notice alert title={cost.error} />
  if (!cost.value) return <div className="flex-1" aria-busy="true" />
  if (!bar) return <Notice title={bars.length === 0 ? 'The model was not asked yet.' : 'There is no such round.'} />
  return <OpenPrompt id={id} cost={cost.value} bars={bars} bar={bar} against={against} />
}

const addressOf = ({ turnId, iteration }: RoundBar) => `${turnId}.${iteration}`

interface OpenPromptProps {
  readonly id: string
  readonly cost: CostView
  readonly bars: readonly RoundBar[]
  readonly bar: RoundBar
  readonly against: RoundBar | undefined
}

function OpenPrompt({ id, cost, bars, bar, against }: OpenPromptProps) {
  const [, go] = useLocation()
  const loaded = useRound(id, bar)
  const other = useRound(id, against)
  const [lit, setLit] = useState<number>()
  const [wanted, setWanted] = useState<{ readonly segment: number }>()
  const changes = useMemo(
    () => (against && other.value && loaded.value ? promptDifference(other.value.segments, loaded.value.segments) : undefined),
    [against, other.value, loaded.value],
  )
  const choose = (next: RoundBar, compare = against) => {
    const query = compare && addressOf(compare) !== addressOf(next) ? `?against=${encodeURIComponent(addressOf(compare))}` : ''
    go(`${promptPath(id, next.turnId, next.iteration)}${query}`, { replace: true })
  }
  const problem = loaded.error ?? (against && other.error)
  const segments = loaded.value?.segments ?? []
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PromptHeader
        bars={bars}
        bar={bar}
        against={against}
        choose={choose}
        compare={(round) =>
          go(`${promptPath(id, bar.turnId, bar.iteration)}${round ? `?against=${encodeURIComponent(addressOf(round))}` : ''}`, {
            replace: true,
          })
        }
      />
      {problem !== undefined && <Notice alert title={problem} />}
      {loaded.value && problem === undefined && (
        <>
          {loaded.value.round.cache?.miss && (
            <MissCard
              cache={loaded.value.round.cache}
              money={cost.total.money}
              onBlock={(key) => {
                const segment = segments.findIndex((each) => each.key === key)
                if (segment >= 0) setWanted({ segment })
                else go(timelinePath(id, key))
              }}
            />
          )}
          {loaded.value.differs !== undefined && (
            <p className="border-b border-line bg-bad-tint px-4 py-2 text-sm text-bad" role="status">
              This is not exactly the prompt that was sent, because the code or the texts of the agent have changed since then:{' '}
              {loaded.value.differs}
            </p>
          )}
          {loaded.value.missing !== undefined ? (
            <Notice title="This prompt can not be shown.">
              <p>To show a prompt, the server runs the recorded turn again, but its agent has changed since then. {loaded.value.missing}</p>
            </Notice>
          ) : changes ? (
            <DifferenceList changes={changes} />
          ) : (
            <div className="flex min-h-0 flex-1" aria-busy={loaded.loading}>
              <Ribbon segments={segments} lit={lit} onLight={setLit} onJump={(segment) => setWanted({ segment })} />
              <PromptText segments={segments} lit={lit} onLight={setLit} wanted={wanted} />
            </div>
          )}
        </>
      )}
      {!loaded.value && problem === undefined && <div className="flex-1" aria-busy="true" />}
    </div>
  )
}

/**
 * The prompt of a round and its costs. If the agent has changed, it may not be possible to rebuild the prompt, but its costs are still
 * known.
 */
function useRound(id: string, bar: RoundBar | undefined) {
  return useLoaded(bar && `${id} ${addressOf(bar)}`, async () => {
    const { turnId = '', iteration = 0 } = bar ?? {}
    const [prompt, round] = await Promise.all([
      client.prompt(id, turnId, iteration).catch((error: unknown) => {
        if (error instanceof RequestRefused && error.status === 404) return error
        throw error
      }),
      client.round(id, turnId, iteration),
    ])
    if (prompt instanceof RequestRefused) return { segments: [], round, differs: undefined, missing: prompt.message }
    const segments: readonly Segment[] = promptSegments(prompt, round)
    return { segments, round, differs: prompt.differs, missing: undefined }
  })
}
