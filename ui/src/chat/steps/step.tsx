import { memo } from 'react'
import { CodeBlock } from '../../markdown/code-block.tsx'
import { MarkdownText } from '../../markdown/markdown-text.tsx'
import { notesForPeople } from '../../model/notes.ts'
import type { AnswerItem, TurnItem } from '../../model/turn-items.ts'
import { Question } from '../question.tsx'
import { ToolCard } from '../tool/tool-card.tsx'
import { CanvasCard } from './canvas-card.tsx'
import { Earlier } from './earlier.tsx'
import { Thinking } from './thinking.tsx'

interface StepProps {
  readonly item: TurnItem
  readonly turnId: string
  readonly waiting: boolean
  /** Whether the item is in a list with many steps. */
  readonly inLongList: boolean
  /** Whether the turn began while the page was open. */
  readonly isNew: boolean
}

/** One item of a turn. */
export const Step = memo(
  function Step({ item, turnId, waiting, inLongList, isNew }: StepProps) {
    switch (item.kind) {
      case 'answer':
        return <Answer item={item} isNew={isNew} />
      case 'thinking':
        return <Thinking text={item.text} live={item.live} preview={inLongList} />
      case 'notes':
        return <Notes text={item.text} live={item.live} small={inLongList} />
      case 'tool':
        return <ToolCard step={item.step} running={item.running} progress={item.progress} waiting={waiting} turnId={turnId} />
      case 'program':
        return <CodeBlock code={item.text} language="program" open />
      case 'canvas':
        return <CanvasCard turnId={turnId} itemKey={item.key} name={item.name} text={item.text} live={item.live} />
      case 'message':
        return <Question text={item.text} attachments={[]} label={messageLabels[item.from]} />
      case 'summary':
        return <Earlier title="Earlier turns were summarised" text={item.text} />
      case 'notice':
        return null // notices are for the model. The page has other texts for what people need to know
      default:
        return item satisfies never
    }
  },
  (a, b) => a.waiting === b.waiting && a.inLongList === b.inLongList && a.turnId === b.turnId && sameItem(a.item, b.item),
)

const messageLabels = {
  followup: 'Sent while the agent worked',
  steer: 'You redirected the agent',
  external: 'Arrived from outside',
} as const

/** Whether two items have the same content. Each change of a turn makes new objects for all items, so the objects can not be compared. */
function sameItem(a: TurnItem, b: TurnItem): boolean {
  const keys = Object.keys(a) as (keyof TurnItem)[]
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key])
}

function Answer({ item, isNew }: { readonly item: AnswerItem; readonly isNew: boolean }) {
  if (item.replaced) return <Earlier title="An earlier answer" text={item.text} />
  return (
    <div data-answer="last" className="pt-1.5">
      <h2 className="sr-only">Answer</h2>
      <MarkdownText text={item.text} live={item.live} arriving={item.live || isNew} />
    </div>
  )
}

function Notes({ text, live, small }: { readonly text: string; readonly live: boolean; readonly small: boolean }) {
  const words = notesForPeople(text)
  if (words === '') return null
  return (
    <div className={small ? 'text-sm' : ''}>
      <MarkdownText text={words} live={live} />
    </div>
  )
}
