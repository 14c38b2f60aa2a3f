import type { LiveRound, ToolStep, TurnView, Wait } from 'daybook/client'
import { memo } from 'react'
import { isBookkeeping } from '../model/tool-titles.ts'
import { type TurnItem, turnItems } from '../model/turn-items.ts'
import { groupWork, isLongWork } from '../model/turn-work.ts'
import { Approval } from './approval.tsx'
import { Followups } from './followups.tsx'
import { Question } from './question.tsx'
import { RunningLine } from './running-line.tsx'
import { LateResult } from './steps/late-result.tsx'
import { PlanCard } from './steps/plan.tsx'
import { Step } from './steps/step.tsx'
import { WorkList } from './steps/work.tsx'
import { TurnEnding } from './turn-ending.tsx'
import { TurnFiles } from './turn-files.tsx'
import { TurnFooter } from './turn-footer.tsx'

interface TurnProps {
  readonly turn: TurnView
  /** The running round, if it belongs to this turn. */
  readonly live: LiveRound | undefined
  readonly isLast: boolean
  /** Whether the turn is the last one and began while the page was open. */
  readonly isNew: boolean
}

/** A question, the steps that the agent took, and the answer. */
export const Turn = memo(function Turn({ turn, live, isLast, isNew }: TurnProps) {
  const running = turn.endedAt === undefined && !turn.parked
  const items = turnItems(turn, live).filter((item) => item.kind !== 'tool' || isShown(item.step, turn))
  const hasAnswer = items.some((item) => item.kind === 'answer' && !item.replaced)
  const renderStep = (item: TurnItem, inLongList: boolean) => (
    <Step key={item.key} item={item} turnId={turn.id} waiting={isWaiting(item, turn)} inLongList={inLongList} isNew={isNew} />
  )
  return (
    <article className="mx-auto flex w-full max-w-3xl flex-col gap-3 px-4 pb-8" aria-label={turn.prompt?.slice(0, 80) ?? 'Turn'}>
      {turn.prompt !== undefined && <Question text={turn.prompt} attachments={turn.attachments} />}
      {turn.plans.map((plan) => (
        <PlanCard key={plan.plan_id} plan={plan} running={turn.endedAt === undefined} />
      ))}
      {groupWork(items).map((part) =>
        part.kind === 'work' ? (
          <WorkList key={part.key} work={part} since={turn.startedAt} active={turn.endedAt === undefined && !hasAnswer}>
            {part.items.map((item) => renderStep(item, isLongWork(part)))}
          </WorkList>
        ) : (
          renderStep(part, false)
        ),
      )}
      {turn.waits.map((wait) => (
        <Waiting key={wait.wait_id} wait={wait} turn={turn} />
      ))}
      {turn.questions.length > 0 && (
        <ul className="list-disc pl-5">
          {turn.questions.map((question) => (
            <li key={question}>{question}</li>
          ))}
        </ul>
      )}
      <TurnFiles files={turn.files} />
      {running && <RunningLine live={live} />}
      <TurnEnding turn={turn} />
      <TurnFooter turn={turn} />
      {isLast && turn.endedAt !== undefined && <Followups items={turn.followups} />}
    </article>
  )
})

/** Whether a call gets its own line. A call that waits for an approval gets no line, because the card of the approval shows it. */
function isShown({ toolId, callId }: ToolStep, { waits }: TurnView): boolean {
  const wait = waits.find(({ call_id: waiting }) => waiting === callId)
  return wait ? wait.kind !== 'approval' : !isBookkeeping(toolId)
}

const isWaiting = (item: TurnItem, { waits }: TurnView) =>
  item.kind === 'tool' && waits.some(({ call_id: callId }) => callId === item.step.callId)

function Waiting({ wait, turn }: { readonly wait: Wait; readonly turn: TurnView }) {
  const step = turn.steps.find((candidate) => candidate.kind === 'tool' && candidate.callId === wait.call_id)
  if (wait.kind === 'approval' && wait.call_id !== undefined && step?.kind === 'tool') {
    return <Approval wait={wait} callId={wait.call_id} step={step} />
  }
  return <LateResult wait={wait} />
}
