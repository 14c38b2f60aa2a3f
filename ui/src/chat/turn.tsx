import type { LiveRound, TurnView } from 'daybook/client'
import { memo } from 'react'
import { type TurnItem, turnItems } from '../model/turn-items.ts'
import { AnswerText } from './answer/answer-text.tsx'
import { Question } from './question.tsx'
import { RunningLine } from './running-line.tsx'

interface TurnProps {
  readonly turn: TurnView
  /** The running round, if it belongs to this turn. */
  readonly live: LiveRound | undefined
}

/** A question, the steps that the agent took, and the answer. */
export const Turn = memo(function Turn({ turn, live }: TurnProps) {
  return (
    <article className="mx-auto flex w-full max-w-3xl flex-col gap-3 px-4 pb-8" aria-label={turn.prompt?.slice(0, 80) ?? 'Turn'}>
      {turn.prompt !== undefined && <Question text={turn.prompt} attachments={turn.attachments} />}
      {turnItems(turn, live).map((item) => (
        <Item key={item.key} item={item} />
      ))}
      {turn.endedAt === undefined && !turn.parked && <RunningLine live={live} />}
    </article>
  )
})

const Item = memo(function Item({ item }: { readonly item: TurnItem }) {
  switch (item.kind) {
    case 'answer':
      return <AnswerText text={item.text} live={item.live} />
    case 'thinking':
    case 'notes':
      return <p className="text-soft">{item.text}</p>
    case 'message':
      return <Question text={item.text} attachments={[]} />
    case 'tool':
      return <p className="text-sm text-soft">{item.step.toolId}</p>
    default:
      return null
  }
})
