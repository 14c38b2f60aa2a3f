import type { TurnView } from 'daybook/client'
import { Check, Circle, CircleDot, ListChecks, X } from 'lucide-react'
import { memo, useState } from 'react'
import { Disclosure } from './disclosure.tsx'

type Plan = TurnView['plans'][number]

const marks = {
  pending: { label: 'to do', icon: <Circle size={13} className="text-faint" aria-hidden /> },
  in_progress: { label: 'now', icon: <CircleDot size={13} className="text-accent" aria-hidden /> },
  done: { label: 'done', icon: <Check size={13} className="text-good" aria-hidden /> },
  failed: { label: 'failed', icon: <X size={13} className="text-bad" aria-hidden /> },
} as const

/** A plan of the agent as a checklist. It is open while its turn runs. */
export const PlanCard = memo(function PlanCard({ plan, running }: { readonly plan: Plan; readonly running: boolean }) {
  const [chosen, setChosen] = useState<boolean>()
  const statusOf = (index: number) => {
    const status = plan.status[String(index + 1)] ?? 'pending'
    return status === 'in_progress' && plan.closed_ts !== undefined ? 'done' : status // the agent closed the plan, so its last step is done
  }
  const done = plan.steps.filter((_, index) => statusOf(index) === 'done').length
  return (
    <Disclosure
      open={chosen ?? running}
      icon={<ListChecks size={14} aria-hidden />}
      title="Plan"
      detail={`${done} of ${plan.steps.length} done`}
      onToggle={setChosen}
    >
      <ol aria-label="Plan" className="space-y-0.5">
        {plan.steps.map((step, index) => {
          const { label, icon } = marks[statusOf(index)]
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are numbered
            <li key={index} className="flex gap-2" data-status={statusOf(index)}>
              <span className="mt-1">{icon}</span>
              <span className={statusOf(index) === 'done' ? 'text-soft' : ''}>
                {step} <span className="sr-only">({label})</span>
              </span>
            </li>
          )
        })}
      </ol>
    </Disclosure>
  )
})
