import type { ConversationView } from 'daybook/client'
import { memo } from 'react'
import { formatCount, formatMoney } from '../model/inspect/figures.ts'
import { Figure } from '../primitives/figure.tsx'

interface MomentPanelProps {
  readonly view: ConversationView
  /** The number of blocks that the prompt shows. `hidden` is the number of hidden blocks. */
  readonly shown: number
  readonly hidden: number
  readonly cost: { readonly money: number; readonly unpriced: number } | undefined
}

/** How many turns are shown. The number is small, because the panel is rendered again at every step through the journal. */
const newestTurns = 12

/** The conversation at the chosen time, as a person saw it: its messages, its plan and its sources. */
export const MomentPanel = memo(function MomentPanel({ view, shown, hidden, cost }: MomentPanelProps) {
  const plans = view.turns.flatMap((turn) => turn.plans)
  return (
    <div className="space-y-5 p-4 text-sm" data-testid="moment">
      <dl className="grid grid-cols-2 gap-3">
        <Figure label="Blocks in the prompt" name="shown">
          {formatCount(shown)}
        </Figure>
        <Figure label="Hidden" name="hidden">
          {formatCount(hidden)}
        </Figure>
        <Figure label="Sources" name="sources">
          {formatCount(view.sources.size)}
        </Figure>
        <Figure label="Cost up to this entry" name="cost">
          {cost ? formatMoney(cost.money, cost.unpriced) : '…'}
        </Figure>
      </dl>
      {plans.length > 0 && (
        <section aria-label="Plan">
          <h3 className="text-xs text-soft">Plan</h3>
          <ol className="mt-1 space-y-0.5">
            {plans.at(-1)?.steps.map((step) => (
              <li key={step} className="truncate">
                {step}
              </li>
            ))}
          </ol>
        </section>
      )}
      <section aria-label="Thread at this entry">
        <h3 className="text-xs text-soft">Thread</h3>
        {view.turns.length > newestTurns && <p className="mt-1 text-soft">{formatCount(view.turns.length - newestTurns)} earlier turns</p>}
        {view.turns.length === 0 && <p className="mt-1 text-soft">Nothing was said yet.</p>}
        <ol className="mt-1 space-y-3">
          {view.turns.slice(-newestTurns).map((turn) => (
            <li key={turn.id}>
              <p className="line-clamp-3 rounded-lg bg-raised px-3 py-1.5">{turn.prompt ?? 'A turn without a message'}</p>
              {turn.steps.length > 0 && <p className="mt-1 text-xs text-soft">{turn.steps.length} steps</p>}
              <p className="mt-1 line-clamp-6 whitespace-pre-wrap break-words">
                {turn.answers.at(-1)?.text ?? (turn.endedAt === undefined ? 'no answer yet' : '')}
              </p>
            </li>
          ))}
        </ol>
      </section>
    </div>
  )
})
